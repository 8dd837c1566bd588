//! A lease call that is dropped at any point strands no item.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use leaseq::Item;
use leaseq_test_support::{RedisServer, eventually};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::task::JoinSet;

use crate::support::{SOON, all_at_once, client, ms, wait};

/// Polls the future `polls` times and lets other tasks run in between. Returns its output, if any.
async fn poll_times<F: Future>(future: F, polls: usize, pause: bool) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..polls {
        let poll = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(output) = poll {
            return Some(output);
        }
        match pause {
            true => tokio::time::sleep(Duration::from_micros(200)).await,
            false => tokio::task::yield_now().await,
        }
    }
    None
}

/// On one thread the polls interleave with the background work in the same way each time. The number of
/// polls increases by one, so every step is interrupted once.
async fn drop_after_each_poll(queue_is_known: bool, ready_before: bool) {
    let server = RedisServer::start();
    for pause in [false, true] {
        let mut completed = 0;
        for polls in 0..2_000 {
            let client = client(&server.url(), 5_000).await;
            let queue = client.queue(&format!("q{pause}{polls}")).unwrap();
            if queue_is_known {
                assert_eq!(queue.queue_len().await.unwrap(), 0);
            }
            let other = client.queue(&format!("q{pause}{polls}")).unwrap();
            let item = Item::new("data").with_id("0");
            if ready_before {
                assert!(other.add_item(item.clone()).await.unwrap());
            }
            let got = poll_times(queue.lease(wait()), polls, pause).await;
            if !ready_before {
                assert!(other.add_item(item).await.unwrap());
            }
            if let Some(lease) = got {
                let lease = lease.unwrap().unwrap();
                queue.release(&lease, Duration::ZERO).await.unwrap();
                completed += 1;
            }
            all_at_once(&other, 1).await;
            client.close().await;
            // Without an item the call never completes: enough polls until it waits.
            if completed == 3 || (!ready_before && polls == 40) {
                break;
            }
        }
        assert_eq!(completed, if ready_before { 3 } else { 0 });
    }
}

#[tokio::test]
async fn a_lease_dropped_after_each_poll_releases_a_ready_item() {
    drop_after_each_poll(true, true).await;
    drop_after_each_poll(false, true).await;
}

#[tokio::test]
async fn a_lease_dropped_after_each_poll_does_not_keep_a_later_item() {
    drop_after_each_poll(true, false).await;
    drop_after_each_poll(false, false).await;
}

/// So many calls that they are answered in slices; calls are aborted before, between and after these.
#[tokio::test]
async fn many_leases_aborted_after_each_turn_strand_nothing() {
    const CALLS: usize = 100;
    let server = RedisServer::start();
    let client = client(&server.url(), 5_000).await;
    let mut answered = Vec::new();
    for turns in 0..40 {
        let queue = client.queue(&format!("q{turns}")).unwrap();
        let items = (0..CALLS).map(|_| Item::new("data"));
        assert_eq!(queue.add_items(items).await.unwrap(), [true; CALLS]);
        let given = Arc::new(AtomicUsize::new(0));
        let mut calls = JoinSet::new();
        for _ in 0..CALLS {
            let (queue, given) = (queue.clone(), given.clone());
            calls.spawn(async move {
                let lease = queue.lease(wait()).await;
                given.fetch_add(1, Relaxed);
                lease
            });
        }
        // In half of the cases counted from the first lease.
        while turns % 2 == 1 && given.load(Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        for _ in 0..turns / 2 {
            tokio::task::yield_now().await;
        }
        calls.abort_all();
        let mut leases = Vec::new();
        while let Some(call) = calls.join_next().await {
            leases.extend(call.ok().and_then(|lease| lease.unwrap()));
        }
        answered.push(leases.len());
        if !leases.is_empty() {
            queue.release_many(&leases, Duration::ZERO).await.unwrap();
        }
        all_at_once(&queue, CALLS as u64).await;
    }
    for some in [0..1, 1..CALLS, CALLS..CALLS + 1] {
        assert!(answered.iter().any(|answered| some.contains(answered)), "{some:?}: {answered:?}");
    }
}

/// The item of the lease is gone or leased to its holder; the other item is ready.
#[tokio::test]
async fn completing_and_leasing_dropped_after_each_poll_strands_nothing() {
    let server = RedisServer::start();
    let (mut answered, mut known) = (0, [0; 2]);
    for polls in 0..2_000 {
        let client = client(&server.url(), 5_000).await;
        let queue = client.queue(&format!("q{polls}")).unwrap();
        let items = ["a", "b"].map(|id| Item::new("data").with_id(id));
        assert_eq!(queue.add_items(items).await.unwrap(), [true; 2]);
        let lease = queue.lease(wait()).await.unwrap().unwrap();
        let call = queue.complete_and_lease([&lease], 1, wait());
        if let Some(done) = poll_times(call, polls, polls % 2 == 1).await {
            let done = done.unwrap();
            assert_eq!((done.completed, done.leases[0].id()), (vec![true], &b"b"[..]));
            queue.release(&done.leases[0], Duration::ZERO).await.unwrap();
            answered += 1;
        }
        // Let all requests in flight end.
        client.close().await;
        let other = crate::support::client(&server.url(), 5_000).await;
        let other = other.queue(&format!("q{polls}")).unwrap();
        let completed = other.counts().await.unwrap().totals.completed as usize;
        known[completed] += 1;
        assert_eq!(lease.is_settled(), completed == 1, "after {polls} polls");
        if completed == 0 {
            assert!(other.remove("a").await.unwrap());
        }
        all_at_once(&other, 1).await;
        if answered == 3 {
            break;
        }
    }
    assert!(answered == 3 && known[0] > 0 && known[1] > 3, "{answered} {known:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timeouts_around_waiting_leases_strand_nothing() {
    let seed: u64 = rand::rng().random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let server = RedisServer::start();
    let workers = client(&server.url(), 5_000).await;
    let producer = client(&server.url(), 5_000).await;
    const ITEMS: u64 = 600;

    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let queue = workers.queue("q").unwrap();
        let mut random = StdRng::seed_from_u64(random.random());
        tasks.spawn(async move {
            let mut released = 0;
            for _ in 0..150 {
                let limit = Duration::from_micros(random.random_range(0..6_000));
                if let Ok(lease) = tokio::time::timeout(limit, queue.lease(wait())).await {
                    // Release each lease, so that the next call can be interrupted again.
                    queue.release(&lease.unwrap().unwrap(), Duration::ZERO).await.unwrap();
                    released += 1;
                }
            }
            released
        });
    }
    let queue = producer.queue("q").unwrap();
    for i in 0..ITEMS {
        assert!(queue.add_item(Item::new("data").with_id(i.to_string())).await.unwrap());
        tokio::time::sleep(Duration::from_micros(random.random_range(0..800))).await;
    }
    let released: u32 = tasks.join_all().await.into_iter().sum();
    println!("{released} leases arrived in time");
    assert!(released > 0, "nothing arrived: the test tests nothing");
    all_at_once(&queue, ITEMS).await;
}

#[tokio::test]
async fn a_call_with_a_limit_of_its_own_takes_an_item_or_leaves_it() {
    let server = RedisServer::start();
    let (workers, producer) =
        (client(&server.url(), 5_000).await, client(&server.url(), 5_000).await);
    let (queue, other) = (workers.queue("q").unwrap(), producer.queue("q").unwrap());
    let mut taken = 0;
    for i in 0..60u64 {
        let item = Item::new("data").with_id(i.to_string());
        let lease = queue.lease(wait().wait(ms(2) + Duration::from_micros(i * 50)));
        let add = async {
            tokio::time::sleep(ms(3)).await;
            other.add_item(item).await.unwrap()
        };
        let (lease, added) = tokio::join!(lease, add);
        assert!(added);
        if let Some(lease) = lease.unwrap() {
            assert!(queue.complete(&lease).await.unwrap());
            taken += 1;
        }
    }
    println!("{taken} of 60 taken");
    assert!(eventually(SOON, async || other.processing().await.unwrap() == 0).await);
    all_at_once(&other, 60 - taken).await;
}
