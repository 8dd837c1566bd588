//! Requests as raw text, for servers whose tests need no client.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

/// Sends a request over a connection of its own, and returns the whole response: `http("127.0.0.1:80", "GET /", "", "")`.
/// `headers` are lines that end with `\r\n`; the body is a form.
pub fn http(address: &str, request: &str, headers: &str, body: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let text = format!(
        "{request} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\
        content-type: application/x-www-form-urlencoded\r\norigin: http://{address}\r\n{headers}\r\n{body}"
    );
    connection.write_all(text.as_bytes()).unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    response
}
