//! Keys that only one item of a queue may have, and items that replace others.

use std::time::Duration;

use leaseq::{FailOptions, Item, LeaseOptions, State, WorkQueue};

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

fn item_with(id: &str, data: Vec<u8>) -> Item {
    Item::new(data).with_id(id)
}

fn unique(id: &str) -> Item {
    item(id).unique("key")
}

async fn add(queue: &WorkQueue, item: Item) -> bool {
    queue.add_item(item).await.unwrap()
}

async fn sound(queue: &WorkQueue) {
    let report = queue.check().await.unwrap();
    assert!(report.is_sound(), "{:?}", report.details);
}

async fn only_one_item_has_a_key_until_it_has_ended(bench: &Bench) {
    let queue = bench.queue().await;
    assert!(add(&queue, unique("a")).await);
    assert_eq!(queue.get("a").await.unwrap().unwrap().unique.as_deref(), Some(&b"key"[..]));
    assert!(!add(&queue, unique("b")).await);
    assert!(add(&queue, item("c").unique("other")).await);
    // Leased, delayed after a failure, ready again.
    let lease = take(&queue).await;
    assert!(!add(&queue, unique("b")).await);
    queue.fail(&lease, "no", secs(5)).await.unwrap();
    assert!(!add(&queue, unique("b")).await);
    bench.advance(secs(5));
    queue.light_clean().await.unwrap();
    assert!(!add(&queue, unique("b")).await);
    for lease in queue.lease_many(2, at_once()).await.unwrap() {
        assert!(queue.complete(&lease).await.unwrap());
    }
    assert!(add(&queue, unique("b")).await);
    sound(&queue).await;
}

async fn every_end_releases_the_key(bench: &Bench) {
    let queue = bench.queue().await;
    // Failed for good, at the limit of attempts, expired, removed, purged.
    assert!(add(&queue, unique("a")).await);
    queue.fail_with(&take(&queue).await, "no", FailOptions::new().dead()).await.unwrap();
    assert!(add(&queue, unique("b").max_attempts(1)).await);
    queue.fail(&take(&queue).await, "no", Duration::ZERO).await.unwrap();
    assert!(add(&queue, unique("c").max_attempts(1)).await);
    take(&queue).await;
    bench.advance(secs(11));
    queue.light_clean().await.unwrap();
    assert!(add(&queue, unique("d")).await);
    assert!(queue.remove("d").await.unwrap());
    assert!(add(&queue, unique("e")).await);
    assert_eq!(queue.purge(State::Ready).await.unwrap(), 1);
    assert!(add(&queue, unique("f")).await);
    assert_eq!(queue.counts().await.unwrap().dead, 3);
    sound(&queue).await;
}

async fn requeue_takes_the_key_again_or_does_nothing(bench: &Bench) {
    let queue = bench.queue().await;
    for id in ["a", "b"] {
        assert!(add(&queue, unique(id)).await);
        queue.fail_with(&take(&queue).await, "no", FailOptions::new().dead()).await.unwrap();
    }
    assert_eq!(queue.requeue(["a", "b"]).await.unwrap(), [true, false]);
    assert!(!add(&queue, unique("c")).await);
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    assert_eq!(queue.requeue(["b"]).await.unwrap(), [true]);
    assert!(!add(&queue, unique("c")).await);
    sound(&queue).await;
}

async fn a_retained_item_keeps_its_key(bench: &Bench) {
    let queue = bench.queue().await;
    assert!(add(&queue, unique("a").retain(HOUR)).await);
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    assert!(!add(&queue, unique("b")).await);
    bench.advance(HOUR);
    assert!(add(&queue, unique("b")).await);
    queue.light_clean().await.unwrap();
    assert!(!add(&queue, unique("c")).await);
    sound(&queue).await;
}

/// What ends large items does not always know their keys.
async fn large_items_release_their_keys(bench: &Bench) {
    let queue = bench.queue().await;
    let large = |id: &str| item_with(id, vec![b'x'; 100_000]).unique("key");
    assert!(add(&queue, large("a")).await);
    assert!(queue.remove("a").await.unwrap());
    assert!(add(&queue, large("a")).await);
    // Another one takes its place, with another key.
    assert!(add(&queue, large("a").unique("other").replace()).await);
    assert!(add(&queue, large("b")).await);
    assert!(!add(&queue, unique("c")).await);
    queue.bury(["b"], "no").await.unwrap();
    assert!(add(&queue, unique("c")).await);
    assert_eq!(queue.requeue(["b"]).await.unwrap(), [false]);
    assert!(queue.remove("c").await.unwrap());
    assert_eq!(queue.requeue(["b"]).await.unwrap(), [true]);
    sound(&queue).await;
    queue.deep_clean().await.unwrap();
    assert!(!add(&queue, unique("c")).await);
    // Its id is known without its data.
    assert!(add(&queue, unique("c").replace()).await);
    assert!(queue.get("b").await.unwrap().is_none());
    assert!(add(&queue, item_with("b", vec![b'x'; 100_000])).await);
    sound(&queue).await;
}

async fn a_lost_lease_in_the_batch_takes_no_key(bench: &Bench) {
    let queue = bench.queue().await;
    assert!(add(&queue, unique("a").retain(HOUR).expires_in(secs(5))).await);
    assert!(add(&queue, item("gone")).await);
    let leases = queue.lease_many(2, LeaseOptions::new(secs(60)).wait(ms(0))).await.unwrap();
    assert!(queue.remove("gone").await.unwrap());
    bench.advance(secs(6));
    assert_eq!(queue.complete_many(&leases).await.unwrap(), [true, false]);
    let done = queue.get("a").await.unwrap().unwrap();
    assert_eq!((done.state, done.unique.as_deref()), (State::Completed, Some(&b"key"[..])));
    assert!(!add(&queue, unique("b")).await);
    sound(&queue).await;
    bench.advance(HOUR);
    assert!(add(&queue, unique("b")).await);
}

/// A step reads 16 MiB of records at most, to know their keys.
async fn large_items_are_requeued_and_cancelled_in_steps(bench: &Bench) {
    let queue = bench.queue().await;
    let ids: Vec<String> = (0..5).map(|i| i.to_string()).collect();
    for id in &ids {
        let item = item_with(id, vec![b'x'; 6 << 20]).unique(id).retain(HOUR);
        assert!(add(&queue, item).await);
    }
    assert_eq!(queue.bury(ids.iter().map(String::as_str), "no").await.unwrap(), [true; 5]);
    assert_eq!(queue.requeue(ids.iter().map(String::as_str)).await.unwrap(), [true; 5]);
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    assert_eq!(queue.cancel_many(ids.iter().map(String::as_str)).await.unwrap(), [true; 5]);
    assert_eq!(queue.counts().await.unwrap().cancelled, 3);
    for lease in &leases {
        let state = queue.fail(lease, "no", Duration::ZERO).await.unwrap();
        assert_eq!(state, State::Cancelled);
    }
    assert_eq!(queue.counts().await.unwrap().cancelled, 5);
    sound(&queue).await;
}

async fn a_key_stays_taken_for_its_time(bench: &Bench) {
    let queue = bench.queue().await;
    assert!(add(&queue, unique("a").unique_for(HOUR)).await);
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    bench.advance(HOUR - ms(1));
    assert!(!add(&queue, unique("b")).await);
    assert!(!add(&queue, unique("b").replace()).await);
    sound(&queue).await;
    bench.advance(ms(1));
    assert!(add(&queue, unique("b")).await);
    queue.light_clean().await.unwrap();
    assert!(!add(&queue, unique("c")).await);
    // The time of an item that has not ended is no reason to release its key.
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    assert!(add(&queue, unique("d").unique_for(secs(1))).await);
    bench.advance(secs(2));
    queue.light_clean().await.unwrap();
    assert!(!add(&queue, unique("e")).await);
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    assert!(add(&queue, unique("e")).await);
    sound(&queue).await;
}

async fn of_a_batch_the_first_is_added(bench: &Bench) {
    let queue = bench.queue().await;
    let batch = [unique("a"), unique("b"), item("c"), unique("d").replace(), unique("a")];
    let added = queue.add_items(batch).await.unwrap();
    assert_eq!(added, [true, false, true, false, false]);
    assert_eq!(drain(&queue).await, ["a", "c"]);
    sound(&queue).await;
}

async fn an_item_replaces_one_with_its_id(bench: &Bench) {
    let queue = bench.queue().await;
    let new = |data: &str| Item::new(data).with_id("a").replace();
    assert!(add(&queue, new("1")).await);
    assert!(add(&queue, new("2").delay(secs(10)).priority(2)).await);
    assert!(add(&queue, item("b")).await);
    let found = queue.get("a").await.unwrap().unwrap();
    assert_eq!((found.state, &found.data[..], found.priority), (State::Delayed, &b"2"[..], 2));
    // Each add puts it off.
    bench.advance(secs(9));
    assert!(add(&queue, new("3").delay(secs(10))).await);
    bench.advance(secs(9));
    assert_eq!(drain(&queue).await, ["b"]);
    bench.advance(secs(1));
    let lease = take(&queue).await;
    assert_eq!(&lease.data()[..], b"3");
    assert!(!add(&queue, new("4")).await);
    queue.fail_with(&lease, "no", FailOptions::new().dead()).await.unwrap();
    assert!(add(&queue, new("5").retain(HOUR)).await);
    assert!(!queue.complete(&lease).await.unwrap());
    let lease = take(&queue).await;
    assert_eq!((&lease.data()[..], lease.attempt()), (&b"5"[..], 1));
    assert!(queue.complete(&lease).await.unwrap());
    assert!(add(&queue, new("6")).await);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.dead, counts.completed), (1, 0, 0));
    assert_eq!((counts.totals.added, counts.totals.replaced), (6, 4));
    sound(&queue).await;
}

async fn an_item_replaces_one_with_its_key(bench: &Bench) {
    let queue = bench.queue().await;
    assert!(add(&queue, unique("a").unique_for(HOUR)).await);
    assert!(add(&queue, unique("b").replace()).await);
    assert!(queue.get("a").await.unwrap().is_none());
    // The longer time counts.
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    assert!(!add(&queue, unique("c")).await);
    bench.advance(HOUR);
    assert!(add(&queue, unique("c")).await);
    // If the id and the key are of different items, nothing is replaced.
    assert!(add(&queue, item("d")).await);
    assert!(!add(&queue, unique("d").replace()).await);
    let lease = take(&queue).await;
    assert_eq!(lease.id(), b"c");
    assert!(!add(&queue, unique("e").replace()).await);
    assert!(queue.complete(&lease).await.unwrap());
    assert!(add(&queue, unique("d").replace()).await);
    assert_eq!(drain(&queue).await, ["d"]);
    sound(&queue).await;
}

on_every_engine!(
    only_one_item_has_a_key_until_it_has_ended,
    every_end_releases_the_key,
    requeue_takes_the_key_again_or_does_nothing,
    a_retained_item_keeps_its_key,
    large_items_release_their_keys,
    a_lost_lease_in_the_batch_takes_no_key,
    large_items_are_requeued_and_cancelled_in_steps,
    a_key_stays_taken_for_its_time,
    of_a_batch_the_first_is_added,
    an_item_replaces_one_with_its_id,
    an_item_replaces_one_with_its_key,
);
