//! Hostile or slow HTTP clients do not affect the cleaning.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use leaseq::Client;
use leaseq_test_support::{RedisServer, eventually_blocking};

use crate::support::{Cleaner, SOON, command, get, is_reclaimed, item, ms, secs};

/// Number of connections that the cleaner serves at the same time.
const MAX_CONNECTIONS: usize = 64;

/// A connection that has sent the start of a request, or nothing.
fn open(address: SocketAddr, begin: &str) -> Option<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, secs(5)).ok()?;
    stream.write_all(begin.as_bytes()).ok()?;
    Some(stream)
}

/// Whether the server has closed it.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(ms(1))).unwrap();
    let mut buffer = [0; 256];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return !matches!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
    }
}

fn open_ones(streams: &mut [TcpStream]) -> usize {
    streams.iter_mut().filter_map(|stream| (!is_closed(stream)).then_some(())).count()
}

fn answers(cleaner: &Cleaner) -> bool {
    get(cleaner.address(), "/healthz").is_some_and(|(status, _)| status == 200)
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_and_half_sent_requests_are_few_and_short() {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("q").unwrap();
    queue.add_item(item("a")).await.unwrap();
    // So few descriptors that 300 connections would use all.
    let own = command(&["--url", &server.url(), "--listen", "127.0.0.1:0", "--log-format", "json"]);
    let mut limited = Command::new("bash");
    limited.args(["-c", "ulimit -n 256; exec \"$0\" \"$@\""]);
    limited.arg(own.get_program()).args(own.get_args());
    for (name, _) in own.get_envs() {
        limited.env_remove(name);
    }
    let mut cleaner = Cleaner::spawn(limited);
    cleaner.wait_for_queues(&["q"]);
    for begin in ["", "GET /healthz HTTP/1.1\r\nHost: x\r\n"] {
        let opened = (0..300).filter_map(|_| open(cleaner.address(), begin));
        let mut streams: Vec<TcpStream> = opened.collect();
        assert!(streams.len() > MAX_CONNECTIONS);
        // Excess connections are closed at once, these after their time limit.
        let few = eventually_blocking(SOON, || open_ones(&mut streams) <= MAX_CONNECTIONS);
        assert!(few, "{} are open", open_ones(&mut streams));
        assert!(is_reclaimed(&queue).await, "{:#?}", cleaner.logs());
        assert!(eventually_blocking(SOON, || open_ones(&mut streams) == 0));
        assert!(eventually_blocking(SOON, || answers(&cleaner)));
        cleaner.wait_ready();
    }
    assert_eq!(cleaner.stop().code(), Some(0));
}

#[test]
fn a_request_that_drips_in_is_cut_off() {
    let mut cleaner = Cleaner::start("memory:", &[]);
    let mut stream = open(cleaner.address(), "GET / HTTP/1.1\r\nX: ").unwrap();
    // Each byte arrives in time, but the request never ends.
    let begun = Instant::now();
    let cut = eventually_blocking(secs(60), || {
        std::thread::sleep(ms(50));
        let _ = stream.write_all(b"x");
        is_closed(&mut stream)
    });
    assert!(cut, "it is still open after {:?}", begun.elapsed());
    // A client that neither reads nor sends does not delay the exit.
    let _slow: Vec<TcpStream> =
        (0..20).filter_map(|_| open(cleaner.address(), "GET /metrics HTTP/1.1\r\n")).collect();
    assert_eq!(cleaner.stop().code(), Some(0));
}

#[test]
fn a_connection_is_kept_for_further_requests() {
    let cleaner = Cleaner::start("memory:", &[]);
    let mut stream = open(cleaner.address(), "").unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    for _ in 0..3 {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"ok\n") {
            let mut buffer = [0; 1_024];
            let length = stream.read(&mut buffer).unwrap();
            assert!(length > 0, "it was closed: {}", String::from_utf8_lossy(&answer));
            answer.extend_from_slice(&buffer[..length]);
        }
    }
}
