//! Holders learn of a cancellation in time, whoever else has one and whatever happens to the connections.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leaseq::{Client, Lease, LeaseOptions, WorkQueue};
use leaseq_test_support::{Proxy, RedisServer};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::support::*;
use crate::{on_threads, seed};

/// What is promised.
const IN_TIME: Duration = Duration::from_secs(5);
/// Until a test fails for good.
const AT_LAST: Duration = Duration::from_secs(30);
const HOLDERS: usize = 60;

/// Cancels items at random moments while their holders wait. Returns the longest that one has waited since the answer.
async fn cancel_all(holders: &[WorkQueue], operator: &WorkQueue) -> Duration {
    let mut rng = StdRng::seed_from_u64(seed());
    let names: Vec<String> = (0..HOLDERS).map(|i| i.to_string()).collect();
    operator.add_items(names.iter().map(item)).await.unwrap();
    let mut waiting = tokio::task::JoinSet::new();
    for i in 0..HOLDERS {
        let queue = holders[i % holders.len()].clone();
        let lease = queue.lease(LeaseOptions::new(secs(60)).wait(AT_LAST)).await.unwrap().unwrap();
        waiting.spawn(async move {
            let told = tokio::time::timeout(AT_LAST, lease.cancelled()).await;
            assert!(told.expect("the holder is told"), "{:?}", lease.id_str());
            (Instant::now(), queue, lease)
        });
    }
    let mut answered = Vec::new();
    for name in &names {
        assert!(operator.cancel(name).await.unwrap());
        answered.push(Instant::now());
        tokio::time::sleep(ms(rng.random_range(0..60))).await;
    }
    let mut longest = Duration::ZERO;
    while let Some(told) = waiting.join_next().await {
        let (at, queue, lease) = told.unwrap();
        let name: usize = lease.id_str().unwrap().parse().unwrap();
        longest = longest.max(at.saturating_duration_since(answered[name]));
        // Watching is no extension.
        check_deadline(&queue, &lease).await;
        queue.release(&lease, Duration::ZERO).await.unwrap();
    }
    println!("told after {longest:?} at most");
    let counts = operator.counts().await.unwrap();
    assert_eq!(counts.totals.cancelled, HOLDERS as u64);
    assert_eq!((counts.ready, counts.leased, counts.totals.expired), (0, 0, 0));
    longest
}

async fn check_deadline(queue: &WorkQueue, lease: &Lease) {
    let found = queue.get(lease.id()).await.unwrap().unwrap();
    assert_eq!((found.at, found.cancel_requested), (Some(lease.deadline()), true));
}

async fn many_holders_are_told_in_time(bench: Arc<Bench>) {
    let mut queues = Vec::new();
    for _ in 0..4 {
        queues.push(bench.queue_in_real_time().await);
    }
    let longest = cancel_all(&queues[1..], &queues[0]).await;
    assert!(longest < IN_TIME, "{longest:?}");
}

on_threads!(many_holders_are_told_in_time);

/// Connections break all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_are_told_over_connections_that_break() {
    let server = RedisServer::start();
    let proxy = Proxy::start(server.port()).await;
    let mut queues = Vec::new();
    for _ in 0..4 {
        let client = Client::connect(&proxy.url()).await.unwrap();
        queues.push(client.queue("jobs").unwrap());
    }
    let breaking = tokio::spawn(async move {
        loop {
            tokio::time::sleep(ms(300)).await;
            proxy.close_all();
        }
    });
    let longest = cancel_all(&queues[1..], &queues[0]).await;
    breaking.abort();
    assert!(longest < IN_TIME, "{longest:?}");
}
