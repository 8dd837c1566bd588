//! Every fault of the proxy, with a real client and a real server.

// Helpers outside of tests may panic here as well.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use leaseq_test_support::{Proxy, RedisServer, Then, TlsServer, eventually};
use redis::aio::MultiplexedConnection;

const SOON: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_millis(50);

async fn both() -> (RedisServer, Proxy) {
    let server = RedisServer::start();
    let proxy = Proxy::start(server.port()).await;
    (server, proxy)
}

async fn connect(proxy: &Proxy) -> MultiplexedConnection {
    try_connect(proxy, "", SOON, SOON).await.unwrap()
}

/// A connection with a short time-out, for commands that should time out.
async fn connect_impatient(proxy: &Proxy) -> MultiplexedConnection {
    try_connect(proxy, "", SOON, SHORT).await.unwrap()
}

async fn connect_fails(proxy: &Proxy) -> bool {
    try_connect(proxy, "", SHORT, SHORT).await.is_err()
}

async fn try_connect(
    proxy: &Proxy,
    query: &str,
    connect: Duration,
    response: Duration,
) -> redis::RedisResult<MultiplexedConnection> {
    let config = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(Some(connect))
        .set_response_timeout(Some(response));
    let client = redis::Client::open(format!("{}{query}", proxy.url()))?;
    client.get_multiplexed_async_connection_with_config(&config).await
}

async fn incr(connection: &mut MultiplexedConnection, key: &str) -> redis::RedisResult<i64> {
    redis::cmd("INCR").arg(key).query_async(connection).await
}

fn is(name: &'static str, key: &'static str) -> impl Fn(&[Vec<u8>]) -> bool + Send + 'static {
    move |args| args[0].eq_ignore_ascii_case(name.as_bytes()) && args[1] == key.as_bytes()
}

#[tokio::test]
async fn commands_are_counted_and_pass_unharmed() {
    for query in ["", "?protocol=resp3"] {
        let (_server, proxy) = both().await;
        let mut connection = try_connect(&proxy, query, SOON, SOON).await.unwrap();
        let before = proxy.commands();
        let big = vec![b'\n'; 3_000_000];
        let (map, got): (redis::Value, Vec<u8>) = redis::pipe()
            .cmd("HSET")
            .arg("h")
            .arg("f")
            .arg("v")
            .ignore()
            .cmd("HGETALL")
            .arg("h")
            .cmd("SET")
            .arg("big")
            .arg(&big)
            .ignore()
            .cmd("GET")
            .arg("big")
            .query_async(&mut connection)
            .await
            .unwrap();
        assert_eq!(matches!(map, redis::Value::Map(_)), !query.is_empty());
        assert_eq!(got, big);
        assert_eq!(proxy.commands() - before, 4);
        assert_eq!(proxy.commands_named("hgetall"), 1);
        assert_eq!((proxy.connections_opened(), proxy.connections_open()), (1, 1));
        drop(connection);
        assert!(eventually(SOON, async || proxy.connections_open() == 0).await);
    }
}

#[tokio::test]
async fn a_swallowed_reply_was_executed_and_resets_the_connection() {
    let (server, proxy) = both().await;
    proxy.drop_replies(is("INCR", "a"), 2, Then::Close);
    for executed in 1..=2 {
        let mut connection = connect(&proxy).await;
        assert_eq!(incr(&mut connection, "b").await.unwrap(), executed);
        assert!(incr(&mut connection, "a").await.is_err());
        assert_eq!(server.cli(&["GET", "a"]), executed.to_string());
    }
    assert!(proxy.wait_for_dropped(2, SOON).await);
    assert!(!proxy.wait_for_dropped(3, SHORT).await);
    assert_eq!(incr(&mut connect(&proxy).await, "a").await.unwrap(), 3);
    assert_eq!(proxy.replies_dropped(), 2);
}

#[tokio::test]
async fn two_commands_in_one_segment_are_told_apart() {
    let (server, proxy) = both().await;
    proxy.drop_replies(is("INCR", "b"), 1, Then::Close);
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    let both = b"*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*2\r\n$4\r\nincr\r\n$1\r\nb\r\n";
    stream.write_all(both).unwrap();
    let mut reply = [0; 4];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b":1\r\n");
    assert!(stream.read(&mut reply).is_err(), "a reset");
    assert_eq!(server.cli(&["MGET", "a", "b"]), "1\n1");
}

#[tokio::test]
async fn a_swallowed_reply_can_leave_the_connection_open_and_silent() {
    let (server, proxy) = both().await;
    let mut connection = connect_impatient(&proxy).await;
    proxy.drop_replies(is("EVAL", "return redis.call('INCR', KEYS[1])"), 1, Then::KeepOpen);
    let script = redis::cmd("EVAL")
        .arg("return redis.call('INCR', KEYS[1])")
        .arg(1)
        .arg("a")
        .query_async::<i64>(&mut connection)
        .await;
    assert!(script.unwrap_err().is_timeout());
    assert!(incr(&mut connection, "a").await.unwrap_err().is_timeout());
    assert_eq!(server.cli(&["GET", "a"]), "1");
    assert_eq!(proxy.connections_open(), 1);
    drop(connection);
    assert!(eventually(SOON, async || proxy.connections_open() == 0).await);
    // The server notices that the client has gone.
    let one = async || server.cli(&["CLIENT", "LIST"]).lines().count() == 1;
    assert!(eventually(SOON, one).await);
}

#[tokio::test]
async fn kept_replies_are_not_swallowed() {
    let (_server, proxy) = both().await;
    proxy.drop_replies(|_| true, usize::MAX, Then::Close);
    proxy.keep_replies();
    assert_eq!(incr(&mut connect(&proxy).await, "a").await.unwrap(), 1);
}

#[tokio::test]
async fn a_black_hole_holds_what_exists_until_healed() {
    let (server, proxy) = both().await;
    let mut old = connect_impatient(&proxy).await;
    proxy.black_hole();
    assert!(incr(&mut old, "a").await.unwrap_err().is_timeout());
    assert_eq!(server.cli(&["EXISTS", "a"]), "0");
    assert_eq!(incr(&mut connect(&proxy).await, "b").await.unwrap(), 1);

    proxy.black_hole_new(true);
    assert!(connect_fails(&proxy).await);
    assert_eq!(proxy.connections_opened(), 3);

    proxy.heal();
    assert!(eventually(SOON, async || server.cli(&["GET", "a"]) == "1").await, "held, not lost");
    assert!(eventually(SOON, async || incr(&mut old.clone(), "c").await.is_ok()).await);
    assert!(incr(&mut connect(&proxy).await, "c").await.is_ok());
}

#[tokio::test]
async fn a_black_hole_hides_the_death_of_the_server() {
    let (mut server, proxy) = both().await;
    let mut connection = connect_impatient(&proxy).await;
    proxy.black_hole();
    server.kill();
    assert!(incr(&mut connection, "a").await.unwrap_err().is_timeout());
    proxy.heal();
    let dropped =
        async || incr(&mut connection.clone(), "a").await.is_err_and(|e| e.is_connection_dropped());
    assert!(eventually(SOON, dropped).await);
    assert!(eventually(SOON, async || proxy.connections_open() == 0).await);
    assert!(connect_fails(&proxy).await, "no server, no service");
}

#[tokio::test]
async fn connections_can_be_reset_and_refused() {
    let (_server, proxy) = both().await;
    let mut connection = connect(&proxy).await;
    proxy.refuse(true);
    assert_eq!(incr(&mut connection, "a").await.unwrap(), 1);
    let refused = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    proxy.close_all();
    assert!(eventually(SOON, async || proxy.connections_open() == 0).await);
    assert!(incr(&mut connection, "a").await.is_err());
    proxy.refuse(false);
    assert_eq!(incr(&mut connect(&proxy).await, "a").await.unwrap(), 2);
}

#[tokio::test]
async fn replies_can_be_slow_and_in_crumbs() {
    let (_server, proxy) = both().await;
    let mut connection = connect(&proxy).await;
    proxy.split_bytes(true);
    let text = "x".repeat(2_000);
    let echo: String = redis::cmd("ECHO").arg(&text).query_async(&mut connection).await.unwrap();
    assert_eq!(echo, text);
    proxy.split_bytes(false);
    proxy.delay(SHORT);
    let start = Instant::now();
    assert_eq!(incr(&mut connection, "a").await.unwrap(), 1);
    assert!(start.elapsed() >= 2 * SHORT);
}

#[tokio::test]
async fn a_muted_connection_is_heard_and_hears_nothing() {
    let (server, proxy) = both().await;
    let mut muted = connect_impatient(&proxy).await;
    proxy.mute();
    assert!(incr(&mut muted, "a").await.unwrap_err().is_timeout());
    assert_eq!(server.cli(&["GET", "a"]), "1");
    assert_eq!(proxy.replies_dropped(), 1);
    assert_eq!(incr(&mut connect(&proxy).await, "a").await.unwrap(), 2);
    proxy.heal();
    assert!(incr(&mut muted, "a").await.unwrap_err().is_timeout(), "for good");
    proxy.close_all();
    assert!(eventually(SOON, async || proxy.connections_open() == 0).await);
}

#[tokio::test]
async fn what_cannot_be_read_passes_in_crumbs_and_is_lost_as_well() {
    rustls::crypto::ring::default_provider().install_default().ok();
    let mut server = TlsServer::start();
    let proxy = Proxy::start_opaque(server.port());
    let url = proxy.url().replacen("redis:", "rediss:", 1);
    let certificates = redis::TlsCertificates {
        client_tls: None,
        root_cert: Some(std::fs::read(server.ca_file()).unwrap()),
    };
    let client = redis::Client::build_with_tls(url, certificates).unwrap();
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(Some(SHORT));
    let connect = async || client.get_multiplexed_async_connection_with_config(&config).await;
    let mut muted = connect().await.unwrap();
    assert_eq!(incr(&mut muted, "a").await.unwrap(), 1);
    assert_eq!(proxy.commands(), 0, "what is in it is nobody's business");

    proxy.mute();
    assert!(incr(&mut muted, "a").await.unwrap_err().is_timeout());
    let executed = async || server.server().cli(&["GET", "a"]) == "2";
    assert!(eventually(SOON, executed).await);
    assert!(proxy.replies_dropped() > 0);

    proxy.split_bytes(true);
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(Some(SOON));
    let slow = client.get_multiplexed_async_connection_with_config(&config).await;
    assert_eq!(incr(&mut slow.unwrap(), "a").await.unwrap(), 3);
    proxy.close_all();
    assert!(eventually(SOON, async || proxy.connections_open() == 0).await);
    server.server_mut().kill();
    assert!(connect().await.is_err(), "no server, no service");
}

#[test]
fn messages_are_not_taken_for_replies() {
    let server = RedisServer::start();
    let proxy = Proxy::start_blocking(server.port());
    proxy.drop_replies(is("GET", "last"), 1, Then::Close);
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    stream.write_all(b"HELLO 3\r\nSUBSCRIBE c d\r\nPING\r\n").unwrap();
    expect(&mut stream, "$1\r\nd\r\n:2\r\n+PONG\r\n");
    server.cli(&["PUBLISH", "c", "hello"]);
    expect(&mut stream, "$5\r\nhello\r\n");
    stream.write_all(b"UNSUBSCRIBE\r\nGET first\r\nGET last\r\n").unwrap();
    expect(&mut stream, ":0\r\n_\r\n");
    assert!(stream.read(&mut [0]).is_err(), "a reset");
}

/// Reads until the text has arrived.
fn expect(stream: &mut TcpStream, text: &str) {
    stream.set_read_timeout(Some(SOON)).unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(text.as_bytes()) {
        let mut byte = [0];
        stream
            .read_exact(&mut byte)
            .unwrap_or_else(|error| panic!("{error} after {:?}", String::from_utf8_lossy(&seen)));
        seen.push(byte[0]);
    }
}
