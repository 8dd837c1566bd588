//! `web`: the command. What the console does is tested in its crate.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use leaseq_test_support::http;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::Bench;

/// A console that has said where it is.
struct Web {
    child: Child,
    address: String,
    path: String,
}

impl Web {
    fn start(command: &mut Command) -> Web {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let link = line.trim_end().strip_prefix("the console is at http://").expect(&line);
        let (address, path) = link.split_once('/').unwrap();
        Web { address: address.to_owned(), path: format!("/{path}"), child }
    }

    /// The response to a request with further headers.
    fn ask(&self, request: &str, headers: &str, body: &str) -> String {
        http(&self.address, request, headers, body)
    }

    /// Its exit status, and what it has written to its standard error.
    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap().code(), errors)
    }
}

#[test]
fn the_printed_link_logs_in_once() {
    for bench in Bench::all() {
        bench.run(&["add", "orders", "a <b>"]).ok();
        let web = Web::start(&mut bench.command(&["web", "--listen", "127.0.0.1:0"]));
        assert!(web.ask("GET /", "", "").starts_with("HTTP/1.1 303"), "nobody looks without it");
        let token = web.path.strip_prefix("/login?token=").unwrap().to_owned();
        let login = || web.ask("POST /login", "", &format!("token={token}"));
        let response = login();
        assert!(response.starts_with("HTTP/1.1 303"), "{response}");
        let cookie = response.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        let cookie = format!("cookie: {}\r\n", cookie.split(';').next().unwrap());
        let overview = web.ask("GET /", &cookie, "");
        assert!(overview.starts_with("HTTP/1.1 200") && overview.contains("orders"), "{overview}");
        assert!(overview.contains("content-security-policy: "), "{overview}");
        assert!(!login().contains("set-cookie: "), "a link is for one browser");
        let (status, errors) = web.end(Signal::TERM);
        assert_eq!(status, Some(0), "{errors}");
        assert!(!errors.contains(&token), "{errors}");
    }
}

#[test]
fn without_a_login_everybody_here_looks_and_nobody_changes() {
    let bench = Bench::sqlite();
    bench.run(&["add", "orders", "a"]).ok();
    let web = Web::start(&mut bench.command(&["web", "--listen", "127.0.0.1:0", "--no-login"]));
    assert_eq!(web.path, "/");
    assert!(web.ask("GET /", "", "").starts_with("HTTP/1.1 200"));
    let refused = web.ask("POST /queues/orders/pause", "", "");
    assert!(refused.starts_with("HTTP/1.1 4"), "{refused}");
    assert_eq!(web.end(Signal::INT).0, Some(0));
}

#[test]
fn what_cannot_be_served_is_said() {
    let bench = Bench::sqlite();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (arguments, error) in [
        (["--listen", &address], format!("listen on {address}: Address already in use")),
        (["--listen", "0.0.0.0:0"], "others can reach 0.0.0.0".to_owned()),
        (["--token-file", "none"], "none: ".to_owned()),
        (["--role", "king"], "king".to_owned()),
    ] {
        let run = bench.run(&[&["web"][..], &arguments].concat());
        assert_eq!(run.status, 2, "{run:?}");
        assert!(run.err.contains(&error), "{error}: {run:?}");
    }
}
