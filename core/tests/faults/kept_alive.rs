//! Leases that are extended in the background.

use std::time::{Duration, Instant};

use leaseq::{KeepAlive, LeaseOptions};
use leaseq_test_support::{RedisServer, eventually};

use crate::support::{SOON, add, at_once, behind_proxy, client, ms};

fn kept(duration_ms: u64) -> LeaseOptions {
    LeaseOptions::new(ms(duration_ms)).wait(Duration::ZERO).keep_alive(KeepAlive::new())
}

#[tokio::test]
async fn a_short_lease_kept_alive_stays_until_it_is_dropped() {
    let server = RedisServer::start();
    let holder = client(&server.url(), 5_000).await.queue("q").unwrap();
    let other = client(&server.url(), 5_000).await.queue("q").unwrap();
    add(&holder, 1).await;
    let lease = holder.lease(kept(2_500)).await.unwrap().unwrap();
    // Another client polls, and would reclaim an expired item.
    let nothing = other.lease(at_once().wait(ms(4_000))).await.unwrap();
    assert!(nothing.is_none() && !lease.is_lost());
    assert!(tokio::time::timeout(Duration::ZERO, lease.lost()).await.is_err());
    let begin = Instant::now();
    drop(lease);
    let next = other.lease(at_once().wait(SOON)).await.unwrap().unwrap();
    assert_eq!(next.attempt(), 2);
    assert!(begin.elapsed() < ms(8_000), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_holder_is_notified_when_the_item_is_removed_or_completed_by_another() {
    let server = RedisServer::start();
    let queue = client(&server.url(), 5_000).await.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = queue.lease(kept(9_000)).await.unwrap().unwrap();
    let begin = Instant::now();
    assert!(queue.remove(lease.id()).await.unwrap());
    tokio::time::timeout(SOON, lease.lost()).await.expect("it is told");
    // At the next extension, a third of the lease later, well before the deadline.
    assert!(begin.elapsed() < ms(8_000), "{:?}", begin.elapsed());
    assert!(lease.is_lost() && !lease.remaining().is_zero());
    assert!(!queue.complete(&lease).await.unwrap());
}

#[tokio::test]
async fn a_settled_lease_is_not_lost() {
    let server = RedisServer::start();
    let queue = client(&server.url(), 5_000).await.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = queue.lease(kept(1_500)).await.unwrap().unwrap();
    assert!(queue.complete(&lease).await.unwrap());
    assert!(tokio::time::timeout(ms(2_000), lease.lost()).await.is_err());
    assert!(!lease.is_lost());
}

#[tokio::test]
async fn extension_stops_at_its_limit() {
    let server = RedisServer::start();
    let queue = client(&server.url(), 5_000).await.queue("q").unwrap();
    add(&queue, 1).await;
    let begin = Instant::now();
    let limited = LeaseOptions::new(ms(2_000)).keep_alive(KeepAlive::new().limit(ms(4_000)));
    let lease = queue.lease(limited).await.unwrap().unwrap();
    tokio::time::timeout(SOON, lease.lost()).await.expect("it is told");
    let took = begin.elapsed();
    assert!(took >= ms(3_980) && took < ms(8_000), "{took:?}");
    // On the server the lease has ended too: the next caller gets the item.
    let next = queue.lease(at_once().wait(SOON)).await.unwrap().unwrap();
    assert_eq!(next.attempt(), 2);
    assert!(begin.elapsed() >= ms(3_995) && begin.elapsed() < ms(10_000), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_holder_is_notified_when_the_server_is_unreachable_past_the_deadline() {
    let (_server, proxy, client) = behind_proxy(5_000).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = queue.lease(kept(1_200)).await.unwrap().unwrap();
    proxy.black_hole();
    proxy.black_hole_new(true);
    let begin = Instant::now();
    tokio::time::timeout(SOON, lease.lost()).await.expect("it is told");
    let took = begin.elapsed();
    assert!(took < ms(4_000), "not later than the server gives it away: {took:?}");
    assert!(lease.is_lost());
}

#[tokio::test]
async fn a_short_outage_does_not_lose_a_lease_that_is_kept_alive() {
    let (server, proxy, near) = behind_proxy(5_000).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = queue.lease(kept(3_000)).await.unwrap().unwrap();
    for _ in 0..12 {
        proxy.close_all();
        tokio::time::sleep(ms(300)).await;
    }
    assert!(!lease.is_lost());
    let other = client(&server.url(), 5_000).await.queue("q").unwrap();
    assert!(other.lease(at_once()).await.unwrap().is_none());
    assert!(queue.complete(&lease).await.unwrap());
    assert!(eventually(SOON, async || other.processing().await.unwrap() == 0).await);
}
