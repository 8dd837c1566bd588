//! Holders learn that the cancellation of their items was requested.

use std::time::Duration;

use leaseq::{Lease, LeaseOptions, WorkQueue};

use crate::support::*;

/// Far longer than a holder is told within.
const LATE: Duration = Duration::from_secs(30);

/// What a holder learns, by when it must.
async fn told(lease: &Lease) -> bool {
    tokio::time::timeout(LATE, lease.cancelled()).await.expect("the holder must learn it in time")
}

async fn hold(queue: &WorkQueue, ids: &[&str]) -> Vec<Lease> {
    queue.add_items(ids.iter().map(item)).await.unwrap();
    let leases = queue.lease_many(ids.len(), LeaseOptions::new(secs(600))).await.unwrap();
    assert_eq!(crate::support::ids(&leases), ids);
    leases
}

async fn a_holder_is_told(bench: &Bench) {
    let (queue, operator) = (bench.queue().await, bench.queue().await);
    let leases = hold(&queue, &["a", "b", "c"]).await;
    assert!(leases.iter().all(|lease| !lease.is_cancelled()));
    assert!(operator.cancel("a").await.unwrap());
    assert!(told(&leases[0]).await && leases[0].is_cancelled());
    assert!(!leases[1].is_cancelled());
    // The lease goes on, and its holder decides.
    assert!(!leases[0].is_lost());
    assert!(queue.complete(&leases[0]).await.unwrap());
    // The next request is noticed as well, and several of one call are.
    assert_eq!(operator.cancel_many(["b", "c"]).await.unwrap(), [true, true]);
    assert!(told(&leases[1]).await && told(&leases[2]).await);
    queue.release(&leases[1], Duration::ZERO).await.unwrap();
    assert!(leases[1].is_cancelled(), "it stays so");
    assert_eq!(queue.counts().await.unwrap().totals.cancelled, 1);
}

async fn one_that_asks_late_is_told(bench: &Bench) {
    let queue = bench.queue().await;
    let leases = hold(&queue, &["a", "b"]).await;
    assert!(queue.cancel("b").await.unwrap());
    // The counter of the first answer is that of the request.
    assert!(!leases[0].is_cancelled());
    assert!(told(&leases[1]).await);
    assert!(!leases[0].is_cancelled());
    // A lease is watched while nothing else changes.
    assert!(queue.cancel("a").await.unwrap());
    assert!(told(&leases[0]).await);
}

async fn a_wait_ends_with_the_lease(bench: &Bench) {
    let queue = bench.queue().await;
    let leases = hold(&queue, &["complete", "fail", "release", "remove", "extend"]).await;
    let [complete, fail, release, remove, extend] = &leases[..] else { unreachable!() };
    let ends = async {
        assert!(queue.complete(complete).await.unwrap());
        queue.fail(fail, "", secs(60)).await.unwrap();
        queue.release(release, secs(60)).await.unwrap();
        assert!(queue.remove_many(["remove", "extend"]).await.unwrap()[0]);
        assert!(is_lost(queue.extend(extend, secs(1)).await));
        // Whoever asks at all notices that an item is gone, when the next request changes the counter.
        let other = hold(&queue, &["other"]).await;
        assert!(queue.cancel("other").await.unwrap());
        drop(other);
    };
    let waits =
        tokio::join!(told(complete), told(fail), told(release), told(remove), told(extend), ends);
    assert_eq!(waits, (false, false, false, false, false, ()));
    assert!(!told(remove).await && !remove.is_cancelled());
}

async fn a_wait_ends_with_the_client_or_the_deadline(bench: &Bench) {
    let client = bench.client().await;
    let queue = client.queue("jobs").unwrap();
    let leases = hold(&queue, &["a"]).await;
    let closed = tokio::join!(told(&leases[0]), client.close());
    assert!(!closed.0);
    assert!(!told(&leases[0]).await && !leases[0].is_cancelled());
    drop((queue, client));
    assert!(!told(&leases[0]).await);

    let queue = bench.queue().await;
    queue.add_item(item("b")).await.unwrap();
    let short = queue.lease(LeaseOptions::new(ms(50))).await.unwrap().unwrap();
    assert!(!told(&short).await && short.is_lost());
}

async fn many_are_told(bench: &Bench) {
    let (queue, operator) = (bench.queue().await, bench.queue().await);
    let names: Vec<String> = (0..2_500).map(|i| i.to_string()).collect();
    queue.add_items(names.iter().map(item)).await.unwrap();
    let mut leases = Vec::new();
    while leases.len() < names.len() {
        leases.extend(queue.lease_many(1_000, LeaseOptions::new(secs(600))).await.unwrap());
    }
    assert!(leases.iter().all(|lease| !lease.is_cancelled()));
    operator.cancel_many(names.iter().step_by(2)).await.unwrap();
    for lease in leases.iter().step_by(2) {
        assert!(told(lease).await);
    }
    assert!(leases.iter().skip(1).step_by(2).all(|lease| !lease.is_cancelled()));
}

on_every_engine!(
    a_holder_is_told,
    one_that_asks_late_is_told,
    a_wait_ends_with_the_lease,
    a_wait_ends_with_the_client_or_the_deadline,
    many_are_told,
);
