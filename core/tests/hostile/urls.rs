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
        ("localhost:6379", "localhost"),
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
        ("redis://user:hunter2@h/0?timeout_ms=49", "50ms"),
        ("redis://user:hunter2@h/0?timeout_ms=600001", "600s"),
        ("redis://user:hunter2@h/0?connect_timeout_ms=9", "10ms"),
        ("redis://user:hunter2@h/0?timeout_ms=99999999999999999999", "timeout_ms"),
        ("redis://user:hunter2@h/0?namespace=", "namespace"),
        ("redis://user:hunter2@h/0?namespace=a%20b", "namespace"),
        ("redis://user:hunter2@h/0#there", "#"),
        ("redis://us%FFer:hunter2@h/0", "utf-8"),
    ] {
        assert_invalid(url, ConnectOptions::default(), says).await;
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
        (options(|o| o.timeout = Duration::ZERO), "50ms"),
        (options(|o| o.timeout = Duration::MAX), "timeout"),
        (options(|o| o.connect_timeout = Duration::ZERO), "10ms"),
        (options(|o| o.namespace = "x".repeat(65)), "{1,64}"),
        (options(|o| o.namespace = "a{b".into()), "a{b"),
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
