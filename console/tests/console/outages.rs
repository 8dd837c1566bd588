//! Servers that are gone or hang, and slow and many clients.

use std::time::{Duration, Instant};

use leaseq::{Item, Measured};
use leaseq_test_support::eventually;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::Request;
use crate::support::{Engine, TOKENS};

/// Longer than the console takes to notice anything.
const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn the_page_says_that_the_server_is_gone_and_recovers() {
    let mut engine = Engine::redis();
    engine.queue("mail").await.add_item(Item::new("x")).await.unwrap();
    let console = engine.console().await;
    console.get("/queues/mail").await.has(200, "mail");
    let server = engine.server.as_mut().unwrap();
    server.kill();
    let began = Instant::now();
    for path in ["/queues/mail", "/queues/mail/item?id=x"] {
        let page = console.get(path).await;
        page.has(503, "The server does not answer").has(503, "http-equiv=\"refresh\"");
    }
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    server.restart();
    let found = async || console.get("/").await.status == 200;
    assert!(eventually(LIMIT, found).await, "not true: the console has recovered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_holds_up_no_page_for_long() {
    let engine = Engine::redis();
    engine.queue("mail").await.add_item(Item::new("x")).await.unwrap();
    let console = engine.console().await;
    console.get("/").await.has(200, "mail");
    let server = engine.server.as_ref().unwrap();
    server.pause();
    // Until then it knows the answers of before.
    let hangs = async || console.get("/").await.status == 503;
    assert!(eventually(LIMIT, hangs).await, "it has never noticed");
    let began = Instant::now();
    let (one, two, three) =
        tokio::join!(console.get("/"), console.get("/queues/mail"), console.get("/queues/mail"));
    for page in [one, two, three] {
        page.has(503, "The server does not answer");
    }
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    server.resume();
    let found = async || console.get("/").await.status == 200;
    assert!(eventually(LIMIT, found).await, "not true: the console has recovered");
}

/// What is asked for rarely is asked again soon after a failure.
#[tokio::test(flavor = "multi_thread")]
async fn every_page_recovers_soon() {
    let mut engine = Engine::redis();
    let queue = engine.queue("mail").await;
    queue.add_item(Item::new("x")).await.unwrap();
    queue.record_history(&Measured::default()).await.unwrap();
    let console = engine.console().await;
    engine.server.as_mut().unwrap().kill();
    let paths = ["/health", "/health/now", "/queues/mail/wasted", "/queues/mail/history"];
    for path in paths {
        assert_eq!(console.get(path).await.status, 503, "{path}");
    }
    engine.server.as_mut().unwrap().restart();
    // It keeps nothing.
    queue.add_item(Item::new("x")).await.unwrap();
    queue.record_history(&Measured::default()).await.unwrap();
    for path in paths {
        let found = async || console.get(path).await.status == 200;
        assert!(eventually(LIMIT, found).await, "{path} has not recovered");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_starts_before_its_server() {
    let mut engine = Engine::redis();
    engine.server.as_mut().unwrap().kill();
    let console = engine.console().await;
    console.get("/").await.has(503, "The server does not answer");
    engine.server.as_mut().unwrap().restart();
    let found = async || console.get("/").await.status == 200;
    assert!(eventually(LIMIT, found).await, "not true: the console has connected");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_hold_up_nobody() {
    let engine = Engine::sqlite();
    let console = engine.console().await;
    let mut slow = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(console.address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: 127").await.unwrap();
        slow.push(stream);
    }
    let began = Instant::now();
    console.get("/login").await.has(200, "Sign in");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    // Too many of them: the connection is closed at once.
    let mut refused = false;
    for _ in 0..500 {
        let mut stream = TcpStream::connect(console.address).await.unwrap();
        let sent = stream.write_all(b"GET / HTTP/1.1\r\nHost: 127").await;
        let read = tokio::time::timeout(Duration::from_millis(1), stream.read_u8()).await;
        refused |= sent.is_err() || matches!(read, Ok(Err(_)));
        slow.push(stream);
    }
    assert!(refused, "none was refused");
    drop(slow);
    let free = async || {
        let Ok(mut stream) = TcpStream::connect(console.address).await else { return false };
        let head = format!(
            "GET /login HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            console.address
        );
        let mut answer = Vec::new();
        stream.write_all(head.as_bytes()).await.is_ok()
            && stream.read_to_end(&mut answer).await.is_ok()
            && answer.starts_with(b"HTTP/1.1 200")
    };
    assert!(eventually(LIMIT, free).await, "no connection is free");
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_and_heads_are_limited() {
    let engine = Engine::sqlite();
    engine.queue("mail").await.add_item(Item::new("x")).await.unwrap();
    let console = engine.console().await;
    let large = "x".repeat(9 << 20);
    console.post("/queues/mail/pause", &[("for", &large)]).await.has(413, "too large");
    // Nothing is read of what will be too large, and nobody waits for it.
    for path in ["/queues/mail/pause", "/login"] {
        let mut stream = TcpStream::connect(console.address).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nSec-Fetch-Site: same-origin\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100000000000\r\n\r\nfor=1h",
            console.address, TOKENS[1].1,
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        let reading = stream.read_exact(&mut answer);
        let read = tokio::time::timeout(Duration::from_secs(3), reading).await;
        assert!(read.is_ok(), "{path}: no answer yet");
        assert_eq!(&answer, b"HTTP/1.1 413", "{path}");
    }
    let head = Request::get("/login").header("X-Large", &"x".repeat(64 << 10));
    assert_eq!(console.send(head).await.status, 431);
}
