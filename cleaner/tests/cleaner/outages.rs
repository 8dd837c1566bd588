//! Servers that go away and come back, empty or replaced: the cleaner recovers by itself.

use std::time::{Duration, Instant};

use leaseq::Client;
use leaseq_test_support::{Cluster, RedisServer, Sentinel, eventually_blocking};

use crate::support::{Cleaner, SOON, is_reclaimed, item, secs};

/// Not ready, and logged once.
fn sees_the_outage(cleaner: &Cleaner) {
    assert!(eventually_blocking(SOON, || !cleaner.is_ready()), "ready without a server");
    assert_eq!(cleaner.get("/healthz").0, 200);
    // Snapshots may be a second old.
    assert!(eventually_blocking(SOON, || cleaner.get("/queues.json").0 == 503));
    let (status, metrics) = cleaner.get("/metrics");
    assert!(status == 200 && metrics.contains("leaseq_up 0"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_stopped_for_a_minute_and_comes_back_empty() {
    let mut server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("q").unwrap();
    queue.add_item(item("a")).await.unwrap();
    let cleaner = Cleaner::start(&format!("{}?timeout_ms=2000", server.url()), &[]);
    cleaner.wait_for_queues(&["q"]);
    let stopped = Instant::now();
    server.kill();
    sees_the_outage(&cleaner);
    tokio::time::sleep(secs(60).saturating_sub(stopped.elapsed())).await;
    assert!(!cleaner.is_ready(), "ready without a server");
    server.restart();
    cleaner.wait_ready();
    queue.add_item(item("b")).await.unwrap();
    assert!(is_reclaimed(&queue).await);
    cleaner.wait_for_queues(&["q"]);
    let told = |what: &str| cleaner.logs().iter().filter(|line| line.contains(what)).count();
    let errors = told("\"ERROR\"");
    assert!((1..=3).contains(&errors), "{errors} errors: {:#?}", cleaner.logs());
    assert!(told("recovered") >= 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs() {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("q").unwrap();
    queue.add_item(item("a")).await.unwrap();
    let cleaner = Cleaner::start(&format!("{}?timeout_ms=2000", server.url()), &[]);
    cleaner.wait_for_queues(&["q"]);
    server.pause();
    sees_the_outage(&cleaner);
    server.resume();
    cleaner.wait_ready();
    assert!(is_reclaimed(&queue).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_there_only_later() {
    let mut server = RedisServer::start();
    server.kill();
    let cleaner = Cleaner::start(&server.url(), &[]);
    assert_eq!(cleaner.get("/readyz").0, 503);
    server.restart();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("q").unwrap();
    queue.add_item(item("a")).await.unwrap();
    cleaner.wait_for_queues(&["q"]);
    assert!(is_reclaimed(&queue).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_replaced_by_its_replica() {
    let mut sentinel = Sentinel::start();
    let client = Client::connect(&sentinel.url()).await.unwrap();
    let queue = client.queue("q").unwrap();
    queue.add_item(item("a")).await.unwrap();
    let cleaner = Cleaner::start(&format!("{}?timeout_ms=2000", sentinel.url()), &[]);
    cleaner.wait_for_queues(&["q"]);
    sentinel.kill_master();
    assert!(eventually_blocking(SOON, || !cleaner.is_ready()));
    let begun = Instant::now();
    assert!(eventually_blocking(Duration::from_secs(60), || cleaner.is_ready()));
    println!("ready again after {:?}", begun.elapsed());
    // The item may have been lost with the old master.
    queue.add_item(item("a")).await.unwrap();
    assert!(is_reclaimed(&queue).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_to_another_node() {
    let cluster = Cluster::start();
    let client = Client::connect(&cluster.url()).await.unwrap();
    let queue = client.queue("q").unwrap();
    queue.add_item(item("a")).await.unwrap();
    let cleaner = Cleaner::start(&cluster.url(), &[]);
    cleaner.wait_for_queues(&["q"]);
    let slot = cluster.slot_of("leaseq:{q}:meta");
    cluster.move_slot(slot, cluster.other_than(cluster.slot_owner(slot)));
    assert!(is_reclaimed(&queue).await);
}
