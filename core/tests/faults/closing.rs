//! Closing a client ends its waiting calls, and leaves nothing behind.

use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use leaseq::{ErrorKind, Item, KeepAlive};
use leaseq_test_support::{RedisServer, Then};

use crate::support::{
    SOON, add, all_at_once, at_once, behind_proxy, calls, client, is_script, lease_now, ms, wait,
    waiting,
};

#[tokio::test]
async fn waiting_calls_end_and_later_ones_are_refused() {
    let server = RedisServer::start();
    let client = client(&server.url(), 5_000).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = lease_now(&queue).await;
    assert!(queue.complete(&lease).await.unwrap());
    let mut waits = Vec::new();
    for _ in 0..20 {
        waits.push(waiting(&queue, wait()).await);
        waits.push(waiting(&client.queue("other").unwrap(), wait().wait(SOON)).await);
    }
    let begin = Instant::now();
    client.close().await;
    for wait in waits {
        assert_eq!(wait.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
    }
    client.close().await;
    assert!(begin.elapsed() < ms(2_000), "{:?}", begin.elapsed());
    assert_eq!(client.queue("q").unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(client.queues().await.unwrap_err().kind(), ErrorKind::Closed);
    for error in [
        queue.add_item(Item::new("data")).await.unwrap_err(),
        queue.lease(at_once()).await.unwrap_err(),
        queue.complete(&lease).await.unwrap_err(),
        queue.complete_and_lease([&lease], 1, at_once()).await.unwrap_err(),
        queue.extend(&lease, SOON).await.unwrap_err(),
        queue.release(&lease, Duration::ZERO).await.unwrap_err(),
        queue.fail(&lease, "no", Duration::ZERO).await.unwrap_err(),
        queue.remove("a").await.unwrap_err(),
        queue.counts().await.unwrap_err(),
        queue.light_clean().await.unwrap_err(),
        queue.check().await.unwrap_err(),
        queue.pause().await.unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Closed, false), "{error}");
    }
    // The server has dropped this client's lanes.
    assert_eq!(server.cli(&["EXISTS", "leaseq:{q}:lanes", "leaseq:{other}:lanes"]), "0");
}

#[tokio::test]
async fn a_lease_in_flight_when_the_client_closes_is_released() {
    let (server, proxy, near) = behind_proxy(5_000).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 5).await;
    let direct = client(&server.url(), 5_000).await.queue("q").unwrap();
    proxy.delay(ms(80));
    // Dropped while the answer is in flight: the lease must be released before the connections close.
    assert!(tokio::time::timeout(ms(120), queue.lease_many(5, wait())).await.is_err());
    assert_eq!(direct.processing().await.unwrap(), 5);
    near.close().await;
    assert_eq!(direct.processing().await.unwrap(), 0);
    all_at_once(&direct, 5).await;
}

/// Such a call drives its request itself; on close the client takes over.
async fn closing_does_not_wait_for_calls_that_are_not_polled(url: &str) {
    let near = client(url, 20_000).await;
    let [waits, adds, dropped] = ["waits", "adds", "dropped"].map(|name| near.queue(name).unwrap());
    for queue in [&waits, &adds, &dropped] {
        assert_eq!(queue.queue_len().await.unwrap(), 0);
    }
    let mut unwoken = Context::from_waker(Waker::noop());
    let mut wait = Box::pin(waits.lease(wait()));
    assert!(tokio::time::timeout(ms(50), &mut wait).await.is_err());
    let mut add = Box::pin(adds.add_item(Item::new("data")));
    assert!(add.as_mut().poll(&mut unwoken).is_pending());
    let mut last = Box::pin(dropped.add_item(Item::new("data")));
    assert!(last.as_mut().poll(&mut unwoken).is_pending());
    // The client keeps nothing for this queue any more.
    dropped.drop_queue().await.unwrap();
    let begin = Instant::now();
    near.close().await;
    assert!(begin.elapsed() < ms(10_000), "{:?}", begin.elapsed());
    assert_eq!(wait.await.unwrap_err().kind(), ErrorKind::Closed);
    assert!(add.await.unwrap() && last.await.unwrap());
}

#[tokio::test]
async fn closing_does_not_wait_for_calls_that_are_not_polled_on_a_server() {
    let server = RedisServer::start();
    closing_does_not_wait_for_calls_that_are_not_polled(&server.url()).await;
}

#[tokio::test]
async fn closing_does_not_wait_for_calls_that_are_not_polled_in_memory() {
    closing_does_not_wait_for_calls_that_are_not_polled("memory:").await;
}

#[tokio::test]
async fn calls_in_flight_are_finished() {
    let (_server, proxy, near) = behind_proxy(5_000).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = lease_now(&queue).await;
    proxy.delay(ms(50));
    let complete = tokio::spawn(async move { queue.complete(&lease).await });
    let before = proxy.commands();
    assert!(leaseq_test_support::eventually(SOON, async || proxy.commands() > before).await);
    near.close().await;
    assert!(complete.await.unwrap().unwrap());
}

#[tokio::test]
async fn a_lease_outlives_the_close_of_its_client() {
    let server = RedisServer::start();
    let near = client(&server.url(), 5_000).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 2).await;
    let held = lease_now(&queue).await;
    let kept = queue.lease(at_once().keep_alive(KeepAlive::new())).await.unwrap().unwrap();
    near.close().await;
    assert!(!held.is_lost() && !kept.is_lost());
    let other = client(&server.url(), 5_000).await.queue("q").unwrap();
    assert_eq!(other.processing().await.unwrap(), 2);
    assert!(other.complete(&held).await.unwrap() && other.complete(&kept).await.unwrap());
}

/// A copy of a repeated request may arrive after its connection is gone. So the server keeps its lane,
/// also if the second attempt was answered.
#[tokio::test]
async fn the_lane_of_a_request_that_was_sent_twice_is_kept() {
    let (server, proxy, near) = behind_proxy(5_000).await;
    let queue = near.queue("q").unwrap();
    let client = client(&server.url(), 5_000).await;
    add(&client.queue("q").unwrap(), 1).await;
    queue.add_item(Item::new("data")).await.unwrap();
    proxy.drop_replies(is_script("add", "q"), 1, Then::Close);
    assert!(queue.add_item(Item::new("data").with_id("sent twice")).await.unwrap());
    assert_eq!(proxy.replies_dropped(), 1);
    near.close().await;
    client.close().await;
    assert_eq!(server.cli(&["HLEN", "leaseq:{q}:lanes"]), "1");
}

#[tokio::test]
async fn closing_does_not_hang_on_a_server_that_is_gone() {
    let mut server = RedisServer::start();
    let near = client(&server.url(), 1_000).await;
    let queue = near.queue("q").unwrap();
    let call = waiting(&queue, wait()).await;
    assert!(calls(&server).contains_key("evalsha"));
    server.kill();
    let begin = Instant::now();
    tokio::time::timeout(SOON, near.close()).await.expect("it ends");
    println!("closed in {:?}", begin.elapsed());
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn closing_costs_by_the_number_of_queues_and_lanes() {
    const QUEUES: usize = 1_000;
    let server = RedisServer::start();
    let near = client(&server.url(), 20_000).await;
    for i in 0..QUEUES {
        let queue = near.queue(&format!("q{i}")).unwrap();
        assert!(queue.add_item(Item::new("data").with_id("a")).await.unwrap());
    }
    let before = calls(&server);
    near.close().await;
    let after = calls(&server);
    let sent = after.get("hdel").unwrap_or(&0) - before.get("hdel").unwrap_or(&0);
    assert_eq!(sent, QUEUES as u64);
    assert!(asked(&after) - asked(&before) <= QUEUES as u64 + 10);
    for i in [0, QUEUES / 2, QUEUES - 1] {
        assert_eq!(server.cli(&["EXISTS".to_owned(), format!("leaseq:{{q{i}}}:lanes")]), "0");
    }
}

/// How many commands the server has executed so far.
fn asked(calls: &std::collections::HashMap<String, u64>) -> u64 {
    calls.values().sum()
}

/// A client does not keep data for ever for a queue that it used once.
#[tokio::test]
async fn queues_out_of_use_are_released() {
    let server = RedisServer::start();
    let near = client(&server.url(), 20_000).await;
    let held = near.queue("held").unwrap();
    assert!(held.add_item(Item::new("data").with_id("a")).await.unwrap());
    for i in 0..500 {
        let queue = near.queue(&format!("used-{i}")).unwrap();
        assert!(queue.add_item(Item::new("data").with_id("a")).await.unwrap());
    }
    for i in 0..100_000 {
        near.queue(&format!("asked-for-{i}")).unwrap();
    }
    let known = near.known_queues();
    println!("{known} queues");
    assert!(known < 10_000, "{known}");
    // The used queues are the oldest: the server drops their lanes.
    let mut left = String::new();
    let retired = leaseq_test_support::eventually(SOON, async || {
        left = server.cli(&["EVAL", "return #redis.call('KEYS', '*:lanes')", "0"]);
        left == "1"
    });
    assert!(retired.await, "{left}");
    // A queue in use is kept, and a queue that is used again works.
    assert!(held.get("a").await.unwrap().is_some());
    let again = near.queue("used-0").unwrap();
    assert!(!again.add_item(Item::new("data").with_id("a")).await.unwrap());
    drop(again);
    // Each call only sends a lease request; the queue is not opened a second time.
    let looks = async || {
        let before = asked(&calls(&server));
        assert!(near.queue("used-0").unwrap().get("a").await.unwrap().is_some());
        asked(&calls(&server)) - before
    };
    let each = looks().await;
    for _ in 0..100 {
        assert_eq!(looks().await, each, "it is opened once");
    }
}
