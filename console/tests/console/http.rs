//! Raw HTTP: what a browser would refuse to send.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn get(path: &str) -> Request {
        Request {
            method: "GET".into(),
            path: path.into(),
            headers: Vec::new(),
            body: String::new(),
        }
    }

    /// As a form of a page of the console sends it.
    pub(crate) fn post(path: &str, form: &[(&str, &str)]) -> Request {
        let request = Request::foreign_post(path, form);
        request.header("Sec-Fetch-Site", "same-origin")
    }

    /// As nobody knows who has sent it.
    pub(crate) fn foreign_post(path: &str, form: &[(&str, &str)]) -> Request {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(form);
        let request = Request { method: "POST".into(), body: body.finish(), ..Request::get(path) };
        request.header("Content-Type", "application/x-www-form-urlencoded")
    }

    /// What is no form.
    pub(crate) fn body(path: &str, kind: &str, body: &str) -> Request {
        let request = Request { method: "POST".into(), body: body.into(), ..Request::get(path) };
        request.header("Content-Type", kind)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) async fn send(self, to: SocketAddr) -> Answer {
        let mut text = format!("{} {} HTTP/1.1\r\nConnection: close\r\n", self.method, self.path);
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text.push_str(&format!("Host: {to}\r\n"));
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n{}", self.body.len(), self.body));
        let mut stream = TcpStream::connect(to).await.unwrap();
        // A server that refuses a request answers, and closes the connection, before it has read all of it.
        let _ = stream.write_all(text.as_bytes()).await;
        let mut answer = Vec::new();
        let reading = stream.read_to_end(&mut answer);
        let read = tokio::time::timeout(Duration::from_secs(20), reading).await.expect("an answer");
        assert!(read.is_ok() || !answer.is_empty(), "{read:?}");
        Answer::read(&answer)
    }
}

impl Answer {
    fn read(bytes: &[u8]) -> Answer {
        let end =
            bytes.windows(4).position(|part| part == b"\r\n\r\n").expect("the end of the head");
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut answer = Answer { status, headers, body: String::new() };
        let body = &bytes[end + 4..];
        let body = match answer.header("transfer-encoding") {
            Some("chunked") => unchunked(body),
            _ => body.to_vec(),
        };
        answer.body = String::from_utf8_lossy(&body).into_owned();
        answer
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The cookie that it sets, as the browser sends it.
    pub(crate) fn cookie(&self) -> Option<&str> {
        self.header("set-cookie")?.split(';').next()
    }

    #[track_caller]
    pub(crate) fn has(&self, status: u16, text: &str) -> &Answer {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.body.contains(text), "{text:?} is not in {}", self.body);
        self
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = bytes.windows(2).position(|part| part == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            break;
        }
        out.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 2 + size + 2..];
    }
    out
}
