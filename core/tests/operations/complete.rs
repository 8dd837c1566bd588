//! `complete`: true for exactly one caller in a generation.

use std::time::Duration;

use leaseq::{CompleteOptions, Lease, State, WorkQueue};

use crate::support::*;

/// A lease of a new item that has expired and was reclaimed.
async fn expired(bench: &Bench, queue: &WorkQueue, id: &str) -> Lease {
    queue.add_item(item(id).max_attempts(2)).await.unwrap();
    let lease = take(queue).await;
    bench.advance(secs(10));
    queue.light_clean().await.unwrap();
    lease
}

/// The same, with the item now in this state.
async fn expired_into(bench: &Bench, queue: &WorkQueue, into: State) -> Lease {
    let lease = expired(bench, queue, "a").await;
    match into {
        State::Delayed => queue.release(&take(queue).await, secs(60)).await.unwrap(),
        State::Leased => drop(take(queue).await),
        State::Dead => {
            queue.fail(&take(queue).await, "", Duration::ZERO).await.unwrap();
        }
        _ => {}
    }
    assert_eq!(state(queue, "a").await, Some(into));
    lease
}

fn strict() -> CompleteOptions {
    CompleteOptions::new().strict()
}

async fn true_once(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    assert!(queue.complete(&lease).await.unwrap());
    assert!(!queue.complete(&lease).await.unwrap());
    assert!(queue.get("a").await.unwrap().is_none());
    assert_eq!(queue.counts().await.unwrap().totals.completed, 1);
    assert_sound(&queue).await;
}

async fn true_past_the_deadline_in_every_state(bench: &Bench) {
    let queue = bench.queue().await;
    for into in LIVE {
        let lease = expired_into(bench, &queue, into).await;
        assert!(queue.complete(&lease).await.unwrap(), "{into:?}");
        assert!(!queue.complete(&lease).await.unwrap(), "{into:?}");
        assert!(queue.get("a").await.unwrap().is_none(), "{into:?}");
        bench.advance(secs(60));
        assert!(queue.lease(at_once()).await.unwrap().is_none(), "{into:?}");
        assert_sound(&queue).await;
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.ready, counts.delayed, counts.leased, counts.dead), (0, 0, 0, 0));
    }
    assert_eq!(queue.counts().await.unwrap().totals.completed, 4);
}

async fn true_past_the_deadline_before_the_item_is_reclaimed(bench: &Bench) {
    let queue = bench.queue().await;
    for options in [CompleteOptions::new(), strict()] {
        queue.add_item(item("a")).await.unwrap();
        let lease = take(&queue).await;
        bench.advance(secs(11));
        assert!(queue.complete_with(&lease, options).await.unwrap());
    }
    assert_eq!(queue.light_clean().await.unwrap().expired, 0);
}

async fn false_for_the_second_holder_after_the_first_completed(bench: &Bench) {
    let (one, two) = (bench.queue().await, bench.queue().await);
    let first = expired(bench, &one, "a").await;
    let second = take(&two).await;
    assert!(one.complete(&first).await.unwrap());
    assert!(!two.complete(&second).await.unwrap());
    assert!(is_lost(two.extend(&second, secs(10)).await));
}

async fn false_for_the_first_holder_after_the_second_completed(bench: &Bench) {
    let (one, two) = (bench.queue().await, bench.queue().await);
    let first = expired(bench, &one, "a").await;
    let second = take(&two).await;
    assert!(two.complete(&second).await.unwrap());
    assert!(!one.complete(&first).await.unwrap());
}

async fn true_for_one_of_many_concurrent_calls(bench: &Bench) {
    let queues = [bench.queue().await, bench.queue().await];
    for round in 0..20 {
        let id = format!("{round}");
        queues[0].add_item(item(&id)).await.unwrap();
        let first = take(&queues[0]).await;
        bench.advance(secs(10));
        let second = take(&queues[1]).await;
        let (a, b, c, d) = tokio::join!(
            queues[0].complete(&first),
            queues[1].complete(&second),
            queues[1].complete(&first),
            queues[0].complete(&second),
        );
        let done = [a, b, c, d].map(leaseq::Result::unwrap);
        assert_eq!(done.iter().filter(|done| **done).count(), 1);
    }
}

async fn strict_needs_the_current_lease(bench: &Bench) {
    let queue = bench.queue().await;
    for into in LIVE {
        let lease = expired_into(bench, &queue, into).await;
        let before = seen(&queue).await;
        assert!(!queue.complete_with(&lease, strict()).await.unwrap(), "{into:?}");
        assert!(lease.is_lost());
        assert_eq!(seen(&queue).await, before, "{into:?}");
        assert!(queue.remove("a").await.unwrap());
    }
    queue.add_item(item("a")).await.unwrap();
    assert!(queue.complete_with(&take(&queue).await, strict()).await.unwrap());
}

async fn false_after_remove(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    assert!(queue.remove("a").await.unwrap());
    assert!(!queue.complete(&lease).await.unwrap());
    assert_eq!(queue.counts().await.unwrap().totals.completed, 0);
}

async fn many_of_every_kind_in_one_batch(bench: &Bench) {
    let queue = bench.queue().await;
    let expired = expired(bench, &queue, "expired").await;
    let taken = take(&queue).await;
    queue.add_items(["a", "b", "c"].map(item)).await.unwrap();
    let [a, b, c] = [take(&queue).await, take(&queue).await, take(&queue).await];
    queue.complete(&b).await.unwrap();
    let done = queue.complete_many([&a, &b, &expired, &taken, &c, &a]).await.unwrap();
    assert_eq!(done, [true, false, true, false, true, false]);
    assert_eq!(queue.counts().await.unwrap().totals.completed, 4);
    assert_sound(&queue).await;
}

async fn the_same_lease_twice_in_one_batch_is_true_once(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    let (a, b) = (&leases[0], &leases[1]);
    assert_eq!(queue.complete_many([a, a, b]).await.unwrap(), [true, false, true]);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.leased, counts.ready, counts.totals.completed), (0, 0, 2));
    assert_sound(&queue).await;
}

on_every_engine!(
    true_once,
    true_past_the_deadline_in_every_state,
    true_past_the_deadline_before_the_item_is_reclaimed,
    false_for_the_second_holder_after_the_first_completed,
    false_for_the_first_holder_after_the_second_completed,
    true_for_one_of_many_concurrent_calls,
    strict_needs_the_current_lease,
    false_after_remove,
    many_of_every_kind_in_one_batch,
    the_same_lease_twice_in_one_batch_is_true_once,
);
