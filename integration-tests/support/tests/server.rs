//! The servers behave as the other tests rely on.

use std::time::Duration;

use leaseq_test_support::{RedisServer, eventually_blocking};

#[test]
fn an_append_only_file_survives_a_kill() {
    let mut server = RedisServer::builder()
        .arg("--appendonly", "yes")
        .arg("--appendfsync", "always")
        .unix_socket(true)
        .start();
    let (pid, url) = (server.pid(), server.url());
    let binary = [0u8, 255, b'\r', b'\n'];
    assert_eq!(server.cli(&[&b"SET"[..], b"key", &binary]), "OK");

    server.kill();
    assert!(redis::Client::open(server.url()).unwrap().get_connection().is_err());
    server.restart();

    assert_ne!(server.pid(), pid);
    assert_eq!(server.url(), url);
    let value: Vec<u8> = redis::cmd("GET").arg("key").query(&mut server.connection()).unwrap();
    assert_eq!(value, binary);
    assert_eq!(server.cli(&["MGET", "none", "nil"]), "\n");
    assert_eq!(server.cli(&["INCR", "n"]), "1");

    let client = redis::Client::open(format!("unix://{}", server.unix_socket().display())).unwrap();
    assert!(redis::cmd("PING").query::<String>(&mut client.get_connection().unwrap()).is_ok());
}

#[test]
fn a_paused_server_is_silent_until_resumed() {
    let server = RedisServer::start();
    let mut connection = server.connection();
    connection.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    server.pause();
    let reply = redis::cmd("PING").query::<String>(&mut connection);
    assert!(reply.unwrap_err().is_timeout());
    server.resume();
    assert_eq!(server.cli(&["PING"]), "PONG");
}

#[test]
fn a_dropped_server_is_gone_even_if_it_was_paused() {
    let server = RedisServer::start();
    let (addr, dir) = (server.addr(), server.dir().to_owned());
    server.pause();
    drop(server);
    assert!(std::net::TcpStream::connect(addr).is_err());
    assert!(!dir.exists());
}

#[test]
fn a_password_is_asked_for() {
    let server = RedisServer::builder().password("secret").start();
    let open = |url: String| redis::Client::open(url).unwrap().get_connection();
    assert!(open(server.url()).is_ok());
    let mut stranger = open(format!("redis://{}/", server.addr())).unwrap();
    assert!(redis::cmd("GET").arg("a").query::<()>(&mut stranger).is_err());
}

#[test]
fn waiting_ends_either_way() {
    let mut calls = 0;
    assert!(eventually_blocking(Duration::from_secs(5), || {
        calls += 1;
        calls == 3
    }));
    assert!(!eventually_blocking(Duration::from_millis(5), || false));
}
