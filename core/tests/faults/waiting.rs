//! Which events wake a waiting call, and how soon.

use std::time::{Duration, Instant};

use leaseq::{Item, Lease, LeaseOptions, WorkQueue};
use leaseq_test_support::RedisServer;
use tokio::task::JoinHandle;

use crate::support::{SOON, add, behind_proxy, client, lease_now, ms, wait, waiting};

/// How long waking may take on a very busy machine, below the poll interval of two seconds.
const PROMPT: Duration = Duration::from_secs(1);

type Waiting = JoinHandle<leaseq::Result<Option<Lease>>>;

/// A server, and the queue of a worker and of another client.
async fn bench() -> (RedisServer, WorkQueue, WorkQueue) {
    let server = RedisServer::start();
    let worker = client(&server.url(), 5_000).await.queue("q").unwrap();
    let other = client(&server.url(), 5_000).await.queue("q").unwrap();
    // The extra work of first calls must not count.
    assert_eq!(other.queue_len().await.unwrap() + worker.queue_len().await.unwrap(), 0);
    (server, worker, other)
}

async fn arrives(call: Waiting) -> Lease {
    tokio::time::timeout(SOON, call).await.expect("it wakes").unwrap().unwrap().unwrap()
}

#[tokio::test]
async fn an_item_of_another_client_reaches_an_idle_worker_at_once() {
    let (_server, worker, other) = bench().await;
    for i in 0..5 {
        let call = waiting(&worker, wait()).await;
        let begin = Instant::now();
        assert!(other.add_item(Item::new("data").with_id(i.to_string())).await.unwrap());
        let lease = arrives(call).await;
        assert!(begin.elapsed() < PROMPT, "{:?}", begin.elapsed());
        assert!(worker.complete(&lease).await.unwrap());
    }
}

#[tokio::test]
async fn a_delayed_item_wakes_when_it_is_due() {
    let (_server, worker, other) = bench().await;
    // Added during the wait, and before.
    for before in [false, true] {
        let delayed = Item::new("data").delay(ms(300));
        let mut begin = Instant::now();
        if before {
            assert!(other.add_item(delayed.clone()).await.unwrap());
        }
        let call = waiting(&worker, wait()).await;
        if !before {
            begin = Instant::now();
            assert!(other.add_item(delayed).await.unwrap());
        }
        let lease = arrives(call).await;
        let took = begin.elapsed();
        assert!(took >= ms(299) && took < ms(300) + PROMPT, "before: {before}: {took:?}");
        assert!(worker.complete(&lease).await.unwrap());
    }
}

#[tokio::test]
async fn an_expired_lease_wakes_a_waiting_worker() {
    let (_server, worker, other) = bench().await;
    add(&other, 1).await;
    let begin = Instant::now();
    let held = other.lease(LeaseOptions::new(ms(200))).await.unwrap().unwrap();
    let call = waiting_behind_a_lease(&worker).await;
    let lease = arrives(call).await;
    let took = begin.elapsed();
    assert!(took >= ms(199) && took < ms(200) + PROMPT, "{took:?}");
    assert_eq!((lease.attempt(), held.is_lost()), (2, true));
    assert!(worker.complete(&lease).await.unwrap());
}

#[tokio::test]
async fn a_short_lease_taken_while_others_wait_wakes_them_when_it_expires() {
    // The waiting worker has a slow network. A near worker leases first, and dies at once.
    let (server, proxy, far) = behind_proxy(5_000).await;
    let worker = far.queue("q").unwrap();
    let near = client(&server.url(), 5_000).await.queue("q").unwrap();
    assert_eq!(near.queue_len().await.unwrap(), 0);
    proxy.delay(ms(20));
    let call = waiting(&worker, wait()).await;
    assert!(near.add_item(Item::new("data")).await.unwrap());
    let begin = Instant::now();
    lease_for(&near, 200).await;
    let lease = arrives(call).await;
    let took = begin.elapsed();
    assert!(took >= ms(199) && took < ms(240) + PROMPT, "{took:?}");
    assert_eq!(lease.attempt(), 2);
}

#[tokio::test]
async fn resume_wakes_all_waiting_calls() {
    let (_server, worker, other) = bench().await;
    worker.pause().await.unwrap();
    add(&other, 10).await;
    let mut calls = Vec::new();
    for i in 0..10 {
        calls.push(waiting_while_paused(if i % 2 == 0 { &worker } else { &other }).await);
    }
    let begin = Instant::now();
    other.resume().await.unwrap();
    for call in calls {
        arrives(call).await;
    }
    assert!(begin.elapsed() < PROMPT, "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_queue_can_be_waited_on_while_the_client_already_waits_on_another() {
    let server = RedisServer::start();
    let worker = client(&server.url(), 5_000).await;
    let other = client(&server.url(), 5_000).await;
    let mut calls = Vec::new();
    for name in ["a", "b", "c", "d"] {
        calls.push((name, waiting(&worker.queue(name).unwrap(), wait()).await));
        let queue = other.queue(name).unwrap();
        assert_eq!(queue.queue_len().await.unwrap(), 0);
    }
    for (name, call) in calls.into_iter().rev() {
        let begin = Instant::now();
        assert!(other.queue(name).unwrap().add_item(Item::new("data")).await.unwrap());
        arrives(call).await;
        assert!(begin.elapsed() < PROMPT, "{name}: {:?}", begin.elapsed());
    }
}

#[tokio::test]
async fn items_reach_all_clients_that_wait() {
    let (_server, worker, other) = bench().await;
    let third = worker.clone();
    let mut calls = Vec::new();
    for _ in 0..10 {
        calls.push(waiting(&worker, wait()).await);
        calls.push(waiting(&other, wait()).await);
    }
    let begin = Instant::now();
    add(&third, 20).await;
    for call in calls {
        arrives(call).await;
    }
    assert!(begin.elapsed() < PROMPT, "{:?}", begin.elapsed());
}

async fn lease_for(queue: &WorkQueue, duration_ms: u64) -> Lease {
    let now = LeaseOptions::new(ms(duration_ms)).wait(Duration::ZERO);
    queue.lease(now).await.unwrap().unwrap()
}

/// [`waiting`] on a queue that is not empty but has no item to lease.
async fn waiting_behind_a_lease(queue: &WorkQueue) -> Waiting {
    let call = tokio::spawn({
        let queue = queue.clone();
        async move { queue.lease(wait()).await }
    });
    tokio::task::yield_now().await;
    assert!(queue.lease(wait().wait(Duration::ZERO)).await.unwrap().is_none());
    call
}

async fn waiting_while_paused(queue: &WorkQueue) -> Waiting {
    waiting_behind_a_lease(queue).await
}

#[tokio::test]
async fn a_release_wakes() {
    let (_server, worker, other) = bench().await;
    add(&other, 1).await;
    let held = lease_now(&other).await;
    let call = waiting_behind_a_lease(&worker).await;
    let begin = Instant::now();
    other.release(&held, Duration::ZERO).await.unwrap();
    assert_eq!(arrives(call).await.attempt(), 1);
    assert!(begin.elapsed() < PROMPT, "{:?}", begin.elapsed());
}
