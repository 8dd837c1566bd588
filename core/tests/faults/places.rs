//! Servers behind sockets, TLS and proxies, and errors that are reported at once.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Instant;

use leaseq::{Client, ConnectOptions, ErrorKind, Item};
use leaseq_test_support::{RedisServer, TlsServer, eventually};

use crate::support::{LONG, SOON, add, at_once, calls, lease_now, ms, wait, waiting};

/// Adds, waits, leases and completes.
async fn works(client: &Client) {
    let queue = client.queue("q").unwrap();
    let call = waiting(&queue, wait()).await;
    assert!(queue.add_item(Item::new("data")).await.unwrap());
    let lease = call.await.unwrap().unwrap().unwrap();
    assert!(queue.complete(&lease).await.unwrap());
    assert_eq!(client.queues().await.unwrap(), ["q"]);
}

#[tokio::test]
async fn a_unix_socket_works() {
    let server = RedisServer::builder().unix_socket(true).start();
    let url = format!("redis+unix://{}", server.unix_socket().display());
    works(&Client::connect(&url).await.unwrap()).await;
}

#[tokio::test]
async fn tls_works_with_the_right_authority_only() {
    let mut server = TlsServer::start();
    let url = format!("{}?ca_file={}", server.url(), server.ca_file().display());
    works(&Client::connect(&url).await.unwrap()).await;

    let mut options = ConnectOptions::default();
    options.ca_file = Some(server.ca_file());
    let client = Client::connect_with(&server.url(), options).await.unwrap();
    // It also works after a restart.
    server.server_mut().restart();
    let queue = client.queue("q").unwrap();
    assert!(queue.add_item(Item::new("data")).await.unwrap());

    let stranger = TlsServer::start();
    let wrong = format!("{}?ca_file={}", server.url(), stranger.ca_file().display());
    for url in [wrong, server.url()] {
        let error = Client::connect(&url).await.unwrap_err();
        println!("{:?}: {error}", error.kind());
        assert!(error.to_string().to_lowercase().contains("cert"), "{error}");
        assert!(!error.outcome_unknown());
    }
    // It must not read an endless file for ever.
    for path in ["/nonexistent/ca.crt", "/dev/zero", "/dev"] {
        let url = format!("{}?ca_file={path}", server.url());
        assert_eq!(Client::connect(&url).await.unwrap_err().kind(), ErrorKind::Invalid, "{path}");
    }
}

#[tokio::test]
async fn calls_wait_for_a_replica_over_tls_and_a_unix_socket() {
    let tls = TlsServer::start_with(RedisServer::builder().unix_socket(true));
    let of = format!("127.0.0.1 {}", tls.server().port());
    let replica = RedisServer::builder().arg("--replicaof", of).start();
    let up = async || tls.server().is_replicated("mark");
    assert!(eventually(LONG, up).await, "no replica:\n{}", replica.log());
    let socket = tls.server().unix_socket();
    for url in [
        format!("{}?ca_file={}&replicas=1", tls.url(), tls.ca_file().display()),
        format!("redis+unix://{}?db=2&replicas=1", socket.display()),
    ] {
        let queue = Client::connect(&url).await.unwrap().queue("q").unwrap();
        add(&queue, 2).await;
        assert!(queue.complete(&lease_now(&queue).await).await.unwrap());
        let waits = calls(tls.server())["wait"];
        add(&queue, 0).await;
        assert!(waits > 0, "{url}");
    }
}

/// Returns the error and checks that it came in time.
async fn refused(url: &str) -> leaseq::Error {
    let begin = Instant::now();
    let connected = Client::connect(&format!("{url}?connect_timeout_ms=1000")).await;
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    connected.expect_err(url)
}

#[tokio::test]
async fn a_server_of_another_protocol_is_named() {
    let server = TlsServer::start();
    // A server that accepts TLS only: it answers with an alert, or just closes.
    let error = refused(&server.url().replace("rediss:", "redis:")).await;
    assert!(error.to_string().contains("rediss"), "{error}");
    // A server without TLS: it answers, or waits for the rest of a command.
    let error = refused(&server.server().url().replace("redis:", "rediss:")).await;
    assert!(error.to_string().contains("TLS"), "{error}");

    let http = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = http.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in http.incoming().take(2) {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    for (scheme, says) in [("redis", "no Redis or Valkey"), ("rediss", "does not speak TLS")] {
        let error = refused(&format!("{scheme}://{place}/")).await;
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test]
async fn a_database_that_does_not_exist_is_invalid() {
    let server = RedisServer::start();
    let error = refused(&format!("{}99", server.url())).await;
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("database 99"), "{error}");
    works(&Client::connect(&format!("{}15", server.url())).await.unwrap()).await;
}

#[tokio::test]
async fn a_server_that_echoes_commands_reveals_no_password() {
    let secret = "hunter2-hunter2";
    // As behind some proxies, and after an operator renamed the command.
    let server = RedisServer::builder().config("rename-command AUTH \"\"").start();
    let place = format!("127.0.0.1:{}", server.port());
    let error = refused(&format!("redis://user:{secret}@{place}/")).await;
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
}

#[tokio::test]
async fn a_server_with_too_many_clients_is_unavailable_and_no_wrong_password() {
    let server = RedisServer::builder().password("right").arg("--maxclients", "3").start();
    let held: Vec<_> = (0..3).map(|_| server.connection()).collect();
    let error = refused(&server.url()).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    drop(held);
}

#[tokio::test]
async fn a_password_is_used_and_never_shown() {
    const RIGHT: &str = "correct-horse";
    const WRONG: &str = "hunter2-hunter2";
    let mut server = RedisServer::builder().password(RIGHT).start();
    let place = format!("127.0.0.1:{}", server.port());
    let client = Client::connect(&format!("{}?timeout_ms=400", server.url())).await.unwrap();
    works(&client).await;
    let options = format!("redis://{place}/?password={RIGHT}");
    works(&Client::connect(&options).await.unwrap()).await;

    let mut errors = Vec::new();
    for url in [
        format!("redis://:{WRONG}@{place}/"),
        format!("redis://somebody:{WRONG}@{place}/"),
        format!("redis://{place}/?password={WRONG}"),
        format!("redis://{place}/"),
    ] {
        let error = Client::connect(&url).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        errors.push(error);
    }
    // The password changes, the server ends, and the client's state is printed.
    let queue = client.queue("q").unwrap();
    assert!(queue.add_item(Item::new("data")).await.unwrap());
    let lease = queue.lease(at_once()).await.unwrap().unwrap();
    let changed = [
        ["CONFIG", "SET", "requirepass", "other"].as_slice(),
        &["CLIENT", "KILL", "TYPE", "normal"],
    ];
    let mut admin = server.connection();
    for command in changed {
        let mut cmd = redis::cmd(command[0]);
        cmd.arg(&command[1..]).query::<redis::Value>(&mut admin).unwrap();
    }
    let error = queue.complete(&lease).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    errors.push(error);
    redis::cmd("CONFIG")
        .arg(&["SET", "requirepass", RIGHT])
        .query::<redis::Value>(&mut admin)
        .unwrap();
    assert!(queue.complete(&lease).await.unwrap(), "it was changed back");
    server.kill();
    errors.push(queue.counts().await.unwrap_err());
    errors.push(Client::connect(&server.url()).await.unwrap_err());
    let shown = format!("{errors:?} {client:?} {queue:?} {lease:?}");
    let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
    for text in [shown, messages.join("\n")] {
        assert!(!text.contains(RIGHT) && !text.contains(WRONG), "{text}");
    }
}

#[tokio::test]
async fn an_unsuitable_server_is_refused_with_the_setting_to_change() {
    let evicting = RedisServer::builder().arg("--maxmemory-policy", "allkeys-lru").start();
    let error = Client::connect(&evicting.url()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incompatible);
    assert!(error.to_string().contains("noeviction"), "{error}");
    evicting.cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    works(&Client::connect(&evicting.url()).await.unwrap()).await;

    let node = RedisServer::builder().arg("--cluster-enabled", "yes").start();
    let error = Client::connect(&node.url()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("redis+cluster://"), "{error}");

    // No server, and a server that never answers.
    let mut server = RedisServer::start();
    server.pause();
    let begin = std::time::Instant::now();
    let url = format!("{}?connect_timeout_ms=200", server.url());
    let error = Client::connect(&url).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, false));
    assert!(begin.elapsed() < ms(4_000), "{:?}", begin.elapsed());
    server.kill();
    let error = Client::connect(&server.url()).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, false));
}

#[tokio::test]
async fn connecting_ends_in_time_however_many_servers_are_named() {
    // Nobody accepts the connections, so they are open and silent.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let hosts = vec![silent.local_addr().unwrap().to_string(); 40].join(",");
    for (scheme, rest) in [("redis+sentinel", "/main"), ("redis+cluster", "")] {
        let url =
            format!("{scheme}://:hunter2@{hosts}{rest}?connect_timeout_ms=250&timeout_ms=1000");
        let begin = Instant::now();
        let error = Client::connect(&url).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
        let place = silent.local_addr().unwrap();
        let named = format!("{place}, {place}, {place} and 37 more: no answer within 1s");
        assert!(error.to_string().contains(&named), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
