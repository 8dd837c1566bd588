//! A server with full memory: nothing can be added, and everything can be drained.

use std::time::Duration;

use leaseq::{ErrorKind, Item, LeaseOptions, State};
use leaseq_test_support::RedisServer;

use crate::support::{add, at_once, client, ms, sound};

#[tokio::test]
async fn a_full_server_refuses_adds_and_can_be_drained() {
    let server = RedisServer::start();
    let near = client(&server.url(), 300).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 20).await;
    let mut leases = queue.lease_many(4, at_once()).await.unwrap();
    let short = LeaseOptions::new(ms(1)).wait(Duration::ZERO);
    let expired = queue.lease(short).await.unwrap().unwrap();
    let delayed = Item::new("data").with_id("delayed").delay(ms(1));
    assert!(queue.add_item(delayed).await.unwrap());
    expired.lost().await;
    tokio::time::sleep(ms(5)).await;

    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let error = queue.add_item(Item::new("data")).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, false));
    assert!(error.to_string().contains("OOM"), "{error}");

    let take = |leases: &mut Vec<leaseq::Lease>| leases.pop().unwrap();
    assert!(queue.complete(&take(&mut leases)).await.unwrap());
    queue.release(&take(&mut leases), Duration::ZERO).await.unwrap();
    let failed = queue.fail(&take(&mut leases), "no", Duration::ZERO).await.unwrap();
    assert_eq!(failed, State::Ready);
    queue.extend(&leases[0], Duration::from_secs(120)).await.unwrap();
    let cleaned = queue.light_clean().await.unwrap();
    assert_eq!((cleaned.promoted, cleaned.expired), (1, 1));
    queue.pause().await.unwrap();
    queue.resume().await.unwrap();
    assert!(queue.remove("7").await.unwrap());

    // A worker that starts now can drain the queue.
    let late = client(&server.url(), 300).await.queue("q").unwrap();
    leases.extend(late.lease_many(100, at_once()).await.unwrap());
    assert_eq!(leases.len(), 19);
    assert!(late.complete_many(&leases).await.unwrap().iter().all(|done| *done));
    assert!(late.deep_clean().await.unwrap().is_sound());

    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    assert!(queue.add_item(Item::new("data")).await.unwrap());
    assert_eq!(queue.counts().await.unwrap().totals.added, 22);
    sound(&queue).await;
}

#[tokio::test]
async fn a_worker_that_starts_on_a_full_server_gets_items_at_once() {
    let server = RedisServer::start();
    add(&client(&server.url(), 5_000).await.queue("q").unwrap(), 2).await;
    let late = client(&server.url(), 5_000).await.queue("q").unwrap();
    // Even if the queue cannot be added to the list.
    server.cli(&["DEL", "leaseq:queues"]);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let begin = std::time::Instant::now();
    let lease = late.lease(at_once()).await.unwrap().unwrap();
    assert!(late.complete(&lease).await.unwrap());
    assert!(begin.elapsed() < ms(2_000), "{:?}", begin.elapsed());
}
