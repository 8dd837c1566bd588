//! Bad URLs and options.

use std::time::Duration;

use leaseq::{Client, ConnectOptions, ErrorKind};

use crate::support::redis::Redis;
use crate::support::*;

async fn assert_invalid(url: &str, options: ConnectOptions, says: &str) {
    let error = Client::connect_with(url, options).await.expect_err(url);
    assert_eq!(error.kind(), ErrorKind::Invalid, "{url}: {error}");
    let message = error.to_string();
    assert!(message.contains(says), "{url}: {message} does not say {says}");
    assert!(!message.contains("hunter2"), "{message}");
}

#[tokio::test]
async fn urls_that_are_none() {
    let long = "x".repeat(100_000);
    for (url, says) in [
        ("", "scheme"),
        ("hunter2", "scheme"),
        ("localhost:6379", "scheme"),
        ("http://user:hunter2@localhost", "\"http\""),
        ("REDIS://localhost", "\"REDIS\""),
        (&long, "scheme"),
        ("redis:", "//"),
        ("redis:user:hunter2@h", "//"),
        ("redis://user:hunter2@", "host"),
        ("redis://user:hunter2@h:99999", "host:port"),
        ("redis://user:hunter2@h:0/", "host:port"),
        ("redis://user:hunter2@h/-1", "database"),
        ("redis://user:hunter2@h/65536", "database"),
        ("redis://user:hunter2@h/0?nonsense=1", "nonsense"),
        ("redis://user:hunter2@h/0?max_data=many", "max_data"),
        ("redis://user:hunter2@h/0?max_data=-1", "max_data"),
        ("redis://user:hunter2@h/0?max_data=0", "max_data"),
        ("redis://user:hunter2@h/0?max_data=268435457", "268435456"),
        ("redis://user:hunter2@h/0?timeout_ms=49", "49 ms is not between 50 ms and 10 minutes"),
        ("redis://user:hunter2@h/0?timeout_ms=600001", "10 minutes"),
        ("redis://user:hunter2@h/0?connect_timeout_ms=9", "10 ms"),
        ("redis://user:hunter2@h/0?timeout_ms=99999999999999999999", "timeout_ms"),
        ("redis://user:hunter2@h/0?namespace=", "namespace"),
        ("redis://user:hunter2@h/0?namespace=a%20b", "namespace"),
        ("redis://user:hunter2@h/0#there", "#"),
        ("redis://us%FFer:hunter2@h/0", "utf-8"),
        // What belongs to another engine, or has no meaning here.
        ("redis://user:hunter2@h?synchronous=full", "synchronous"),
        ("redis://user:hunter2@h?db=1", "db"),
        ("redis+cluster://user:hunter2@h?db=1", "db"),
        ("redis://user:hunter2@h?ca_file=/ca.pem", "rediss"),
        ("redis+unix:///run/redis.sock?ca_file=/ca.pem", "rediss"),
        ("redis://hunter2@h", ":password@host"),
        ("redis://h?user=hunter2", ":password@host"),
        // Whoever forgets to encode a password, or misspells an option.
        ("redis://user:hun/ter@2/hunter2@h", "%40"),
        ("redis://user:hunter2?x=y@h", "%40"),
        ("redis://user:x/y@hunter2", "%40"),
        ("redis+sentinel://user:x@y/hunter2@h", "%40"),
        ("redis+unix:///user:hunter2@h", "%40"),
        ("redis+sentinel://u:p@h1,u:q@hunter2:2/m", "all hosts"),
        ("redis+cluster://u:p@h1,u:q@hunter2:2", "all hosts"),
        ("sqlite:/missing/a.db&password=hunter2", "/missing/a.db&password=***"),
        ("sqlite:/missing/a.db%3Fpassword=hunter2", "/missing/a.db?password=***"),
        ("redis://h?pasword=hunter2", "\"pasword\""),
        ("redis://h?PASSWORD=hunter2", "unknown option"),
        ("redis://h?password=x&hunter2=y", "unknown option"),
        ("redis://h?hunter2", "unknown option"),
        ("redis://h?timeout_ms=hunter2", "timeout_ms"),
        ("redis://h?namespace=hunter2%20x", "namespace"),
        ("redis://user:hunter2", "host:port"),
        ("redis://user%3Ahunter2%40h:x", "host:port"),
        ("redis+cluster://user:p@a:1,user:hunter2", "host:port"),
        ("user:hunter2@h", "scheme"),
        ("hunter2:x@h", "scheme"),
        (" redis://user:hunter2@h", "scheme"),
    ] {
        assert_invalid(url, ConnectOptions::default(), says).await;
    }
}

/// No URL, whatever is wrong with it, brings its password into an error. A port that nobody listens on
/// makes errors of those that are right.
#[tokio::test]
async fn no_error_shows_a_password() {
    const SECRET: &str = "hunter2!";
    let urls = [
        "redis://user:hunter2!@127.0.0.1:1/0?timeout_ms=100&namespace=x",
        "rediss://user:hunter2!@127.0.0.1:1/3?ca_file=/etc/ca.pem&max_data=9",
        "redis+unix:///run/no.sock?db=2&user=u&password=hunter2!",
        "redis+sentinel://user:hunter2!@127.0.0.1:1,127.0.0.1:1/main/4?connect_timeout_ms=50",
        "redis+cluster://user:hunter2%21@127.0.0.1:1?pasword=hunter2!",
        "redis://127.0.0.1:1?%70assword=hunter2%21&token=hunter2!",
        "redis:user:hunter2!@h",
        "user:hunter2!@h",
        "http://user:hunter2!@h",
    ];
    let mut all = Vec::new();
    leaseq_test_support::with_accidents(&urls, 3_000, |url| {
        // Names of hosts would be looked up in the network, and files be made.
        let here = url.rsplit('@').next().unwrap_or_default().contains("127.0.0.1:1");
        if here || !url.starts_with("redis") {
            all.push(url.to_owned());
        }
    });
    all.retain(|url| !url.starts_with("sqlite"));
    for url in all {
        let options = options(|o| o.connect_timeout = ms(50));
        let Err(error) = Client::connect_with(&url, options).await else { continue };
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(SECRET) && !shown.contains("hunter2%21"), "{url:?}: {shown}");
    }
}

#[tokio::test]
async fn options_outside_their_limits() {
    let redis = Redis::start();
    let bench = Bench::new(redis);
    let url = bench.backend().url();
    for (options, says) in [
        (options(|o| o.max_data = 0), "max_data of 0"),
        (options(|o| o.max_data = usize::MAX), "268435456"),
        (options(|o| o.timeout = Duration::ZERO), "50 ms"),
        (options(|o| o.timeout = Duration::MAX), "timeout"),
        (options(|o| o.connect_timeout = Duration::ZERO), "10 ms"),
        (options(|o| o.namespace = "x".repeat(65)), "{1,64}"),
        (options(|o| o.namespace = "a{b".into()), "a{b"),
        (options(|o| o.ca_file = Some("/ca.pem".into())), "ca_file is for TLS"),
    ] {
        assert_invalid(&url, options, says).await;
    }
    assert!(bench.backend().dump().is_empty());
}

#[tokio::test]
async fn namespaces_do_not_mix() {
    let bench = Bench::new(Redis::start());
    let other = options(|o| o.namespace = "other".into());
    let (one, two) = (bench.client().await, bench.client_with(other).await);
    one.queue("jobs").unwrap().add_item(item("a")).await.unwrap();
    let queue = two.queue("jobs").unwrap();
    assert!(queue.add_item(item("a")).await.unwrap());
    assert_eq!(queue.queue_len().await.unwrap(), 1);
    assert!(queue.remove("a").await.unwrap());
    assert_eq!(one.queue("jobs").unwrap().queue_len().await.unwrap(), 1);
}

#[tokio::test]
async fn a_closed_client_says_so() {
    let bench = Bench::new(Redis::start());
    let client = bench.client().await;
    let queue = client.queue("jobs").unwrap();
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    let lease = take(&queue).await;
    client.close().await;
    client.close().await;
    for error in [
        client.queue("jobs").unwrap_err(),
        client.queues().await.unwrap_err(),
        queue.add_item(item("c")).await.unwrap_err(),
        queue.lease(at_once()).await.unwrap_err(),
        queue.complete(&lease).await.unwrap_err(),
        queue.counts().await.unwrap_err(),
        queue.light_clean().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Closed);
    }
    assert_eq!(drain(&bench.queue().await).await, ["b"]);
}

#[test]
fn a_client_needs_a_runtime() {
    let url = "redis://127.0.0.1/";
    let connecting = std::pin::pin!(Client::connect(url));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::future::Future::poll(connecting, &mut context) {
        std::task::Poll::Ready(Err(error)) => assert_eq!(error.kind(), ErrorKind::Invalid),
        other => panic!("{other:?}"),
    }
}
