//! Where a server can be, and what is refused at once.

use leaseq::{Client, ConnectOptions, ErrorKind, Item};
use leaseq_test_support::{RedisServer, TlsServer};

use crate::support::{at_once, ms, wait, waiting};

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
    // And goes on after a restart.
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
    let missing = format!("{}?ca_file=/nonexistent/ca.crt", server.url());
    assert_eq!(Client::connect(&missing).await.unwrap_err().kind(), ErrorKind::Invalid);
    // Plain text to a TLS port, and the other way round: an error, no hang.
    let plain = server.url().replace("rediss:", "redis:");
    assert!(Client::connect(&plain).await.is_err());
    let tls = server.server().url().replace("redis:", "rediss:");
    assert!(Client::connect(&tls).await.is_err());
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
    // The password is changed, the server goes, the client is looked at.
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
async fn a_server_that_does_not_fit_is_refused_with_what_to_change() {
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

    // Nobody there, and somebody who never answers.
    let mut server = RedisServer::start();
    server.pause();
    let begin = std::time::Instant::now();
    let url = format!("{}?connect_timeout_ms=200", server.url());
    let error = Client::connect(&url).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, false));
    assert!(begin.elapsed() < ms(1_500), "{:?}", begin.elapsed());
    server.kill();
    let error = Client::connect(&server.url()).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, false));
}
