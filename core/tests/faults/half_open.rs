//! Connections that carry nothing any more: operations end by their deadline, or succeed on a new
//! connection.

use std::time::{Duration, Instant};

use leaseq::{ErrorKind, Item};
use leaseq_test_support::RedisServer;
use tokio::task::JoinSet;

use crate::support::{
    SOON, add, at_once, behind_proxy, client, lease_now, ms, sound, wait, waiting, warm_up,
};

/// How much later than its deadline a call may end on a busy machine.
const SLACK: Duration = Duration::from_millis(1_200);

#[tokio::test]
async fn a_frozen_server_means_unavailable_by_the_deadline_and_nothing_worse() {
    let server = RedisServer::start();
    let client = client(&server.url(), 1_500).await;
    warm_up(&client).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 2).await;
    let (first, second) = (lease_now(&queue).await, lease_now(&queue).await);
    server.pause();
    let begin = Instant::now();
    let errors = tokio::join!(
        async { queue.add_item(Item::new("data")).await.unwrap_err() },
        async { queue.lease(at_once()).await.unwrap_err() },
        async { queue.complete(&first).await.unwrap_err() },
        async { queue.release(&second, Duration::ZERO).await.unwrap_err() },
        async { queue.counts().await.unwrap_err() },
    );
    let took = begin.elapsed();
    server.resume();
    assert!(took >= ms(1_490) && took < ms(1_500) + SLACK, "{took:?}");
    let (adding, leasing, completing, releasing, counting) = errors;
    for error in [adding, leasing, completing, releasing, counting] {
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.outcome_unknown(), "{error}");
    }
    // Operations that were executed after all were executed once: repeating them is harmless.
    queue.complete(&first).await.unwrap();
    assert_eq!(queue.get(first.id()).await.unwrap(), None);
    let _ = queue.release(&second, Duration::ZERO).await;
    assert_eq!(lease_now(&queue).await.attempt(), 1);
    sound(&queue).await;
}

#[tokio::test]
async fn calls_on_a_queue_that_is_new_to_the_client_end_by_the_deadline_too() {
    let server = RedisServer::start();
    let client = client(&server.url(), 1_500).await;
    server.pause();
    let begin = Instant::now();
    let mut calls = JoinSet::new();
    for _ in 0..6 {
        let queue = client.queue("new").unwrap();
        calls.spawn(async move { queue.add_item(Item::new("data")).await });
    }
    for result in calls.join_all().await {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, false));
    }
    let took = begin.elapsed();
    server.resume();
    assert!(took < ms(1_500) + SLACK, "{took:?}");
}

#[tokio::test]
async fn an_operation_continues_when_a_black_hole_ends_before_its_deadline() {
    let (_server, proxy, client) = behind_proxy(3_000).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = lease_now(&queue).await;
    proxy.black_hole();
    proxy.black_hole_new(true);
    let healed = async {
        tokio::time::sleep(ms(900)).await;
        proxy.heal();
    };
    let (completed, ()) = tokio::join!(queue.complete(&lease), healed);
    assert!(completed.unwrap());
    assert_eq!(queue.counts().await.unwrap().totals.completed, 1);
}

#[tokio::test]
async fn a_black_hole_on_every_connection_ends_calls_by_their_deadline() {
    let (_server, proxy, client) = behind_proxy(1_500).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = lease_now(&queue).await;
    proxy.black_hole();
    proxy.black_hole_new(true);
    // The second call finds no connection, and reports that nothing was executed.
    for unknown in [true, false] {
        let begin = Instant::now();
        let error = queue.complete(&lease).await.unwrap_err();
        let took = begin.elapsed();
        assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, unknown));
        assert!(took >= ms(1_490) && took < ms(1_500) + SLACK, "{took:?}");
    }
    proxy.heal();
    queue.complete(&lease).await.unwrap();
    assert_eq!(queue.counts().await.unwrap().totals.completed, 1);
}

#[tokio::test]
async fn a_connection_that_went_silent_is_replaced() {
    let (_server, proxy, client) = behind_proxy(1_500).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = lease_now(&queue).await;
    let opened = proxy.connections_opened();
    proxy.black_hole();
    assert!(queue.complete(&lease).await.unwrap());
    assert!(proxy.connections_opened() > opened);
    assert_eq!(queue.counts().await.unwrap().totals.completed, 1);
}

#[tokio::test]
async fn waiting_continues_after_its_connections_went_silent() {
    let (server, proxy, near) = behind_proxy(1_500).await;
    let queue = near.queue("q").unwrap();
    let call = waiting(&queue, wait()).await;
    proxy.black_hole();
    let other = client(&server.url(), 1_500).await.queue("q").unwrap();
    add(&other, 1).await;
    // The token is lost in the black hole: the next poll finds the item, on a new connection.
    let lease = tokio::time::timeout(SOON, call).await.expect("it goes on").unwrap();
    assert_eq!(lease.unwrap().unwrap().attempt(), 1);
    // Once the listening connection was replaced too, the next wait is as fast as before.
    let call = waiting(&queue, wait()).await;
    assert!(other.add_item(Item::new("data")).await.unwrap());
    let lease = tokio::time::timeout(SOON, call).await.expect("it goes on").unwrap();
    assert!(lease.unwrap().is_some());
}

#[tokio::test]
async fn a_call_behind_one_that_hangs_ends_by_its_own_deadline() {
    let server = RedisServer::start();
    let client = client(&server.url(), 1_500).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 2).await;
    let (first, second) = (lease_now(&queue).await, lease_now(&queue).await);
    server.pause();
    let behind = async {
        tokio::time::sleep(ms(100)).await;
        let begin = Instant::now();
        let errors = tokio::join!(queue.complete(&second), queue.lease(at_once()));
        (begin.elapsed(), errors)
    };
    let (_, _, (took, errors)) =
        tokio::join!(queue.complete(&first), queue.lease(at_once()), behind);
    server.resume();
    assert!(took < ms(1_500) + SLACK, "{took:?}");
    assert_eq!(errors.0.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(errors.1.unwrap_err().kind(), ErrorKind::Unavailable);
}
