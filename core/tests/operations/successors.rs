//! Successors: what is in a batch with them, large ones, events, and what is dropped with a queue.

use std::time::Duration;

use leaseq::{
    EventsOptions, FailOptions, FollowUp, Item, LeaseOptions, On, SettingsChange, State, WorkQueue,
};

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

fn next(id: &str, data: impl AsRef<[u8]>) -> Item {
    Item::new(data).with_id(id).replace().successor()
}

async fn leased(queue: &WorkQueue, ids: &[&str]) -> Vec<leaseq::Lease> {
    queue.add_items(ids.iter().map(item)).await.unwrap();
    queue.lease_many(ids.len(), at_once()).await.unwrap()
}

async fn sound(queue: &WorkQueue) {
    let report = queue.check().await.unwrap();
    assert!(report.is_sound(), "{:?}", report.details);
    let counts = queue.counts().await.unwrap();
    let ended = counts.dead + counts.completed + counts.cancelled;
    let all = counts.ready + counts.delayed + counts.leased + counts.held + ended;
    assert_eq!(report.items, all, "those that wait are no items yet");
}

async fn a_batch_may_have_all_kinds(bench: &Bench) {
    let queue = bench.queue().await;
    let leases = leased(&queue, &["a", "b", "c"]).await;
    queue.add_item(item("ready")).await.unwrap();
    let batch = [
        item("new"),
        next("a", "1"),
        item("b"),
        next("ready", "1"),
        next("other", "1").unique("u"),
        next("c", "1").unique("u"),
        next("b", "1").priority(5),
        next("a", "2"),
        item("last").priority(2),
    ];
    // Of those with the same id or the same key the first counts, even if it is refused.
    let answers = [true, true, false, true, true, false, false, false, true];
    assert_eq!(queue.add_items(batch).await.unwrap(), answers);
    sound(&queue).await;
    assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| *done));
    let all = queue.lease_many(9, at_once()).await.unwrap();
    assert_eq!(ids(&all), ["last", "new", "ready", "other", "a"]);
    assert_eq!(&all[4].data()[..], b"1");
    sound(&queue).await;
}

async fn they_may_be_large(bench: &Bench) {
    let queue = bench.queue().await;
    let leases = leased(&queue, &["a", "b", "c", "d"]).await;
    let large = |n: u8| vec![n; 300_000];
    for n in 0..2 {
        let all = ["a", "b", "c", "d"].map(|id| next(id, large(n)).key("k").retain(secs(1)));
        assert_eq!(queue.add_items(all).await.unwrap(), [true; 4]);
        sound(&queue).await;
    }
    queue.complete(&leases[0]).await.unwrap();
    queue.fail_with(&leases[1], "no", FailOptions::new().dead()).await.unwrap();
    queue.release(&leases[2], Duration::ZERO).await.unwrap();
    assert!(queue.remove("d").await.unwrap());
    sound(&queue).await;
    // Their key lets one run at a time.
    for id in ["a", "b", "c"] {
        let lease = queue.lease(at_once()).await.unwrap().unwrap();
        assert_eq!((lease.id(), &lease.data()[..]), (id.as_bytes(), &large(1)[..]));
        assert!(queue.lease(at_once()).await.unwrap().is_none());
        queue.complete(&lease).await.unwrap();
    }
    sound(&queue).await;
}

async fn events_tell_when_it_is_added(bench: &Bench) {
    let queue = bench.queue().await;
    queue.configure(SettingsChange::new().events(100)).await.unwrap();
    let leases = leased(&queue, &["a", "b"]).await;
    assert!(queue.add_items([next("a", "1"), next("b", "1")]).await.unwrap().iter().all(|t| *t));
    queue.complete(&leases[0]).await.unwrap();
    queue.fail_with(&leases[1], "no", FailOptions::new().dead()).await.unwrap();
    let page = queue.events(EventsOptions::new()).await.unwrap();
    let kinds: Vec<_> = page.events.iter().map(|event| event.kind.as_str()).collect();
    let begun = ["added", "added", "leased", "leased"];
    let ended = ["completed", "added", "failed", "dead", "replaced", "added"];
    assert_eq!(kinds, [&begun[..], &ended[..]].concat());
    let counts = queue.counts().await.unwrap();
    assert_eq!(
        (counts.ready, counts.dead, counts.totals.died, counts.totals.replaced),
        (2, 0, 1, 1)
    );
}

async fn what_is_dropped_with_a_queue_is_gone(bench: &Bench) {
    let queue = bench.queue().await;
    leased(&queue, &["a", "b"]).await;
    let over = FollowUp::new(On::Ended, item("never"));
    let all = [next("a", vec![0; 5_000]).follow_up(over), next("c", "1").unique("k")];
    assert_eq!(queue.add_items(all).await.unwrap(), [true, true]);
    assert!(queue.drop_queue().await.unwrap());
    queue.deep_clean().await.unwrap();
    assert_eq!(queue.add_items(["a", "b", "c"].map(item)).await.unwrap(), [true; 3]);
    let leases = queue.lease_many(9, at_once()).await.unwrap();
    assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| *done));
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    sound(&queue).await;
}

/// A queue that was plain until then, and whose leases were given by then.
async fn a_plain_queue_may_begin_with_one(bench: &Bench) {
    let queue = bench.queue().await;
    let other = bench.client().await.queue(queue.name()).unwrap();
    queue.add_item(item("a")).await.unwrap();
    let lease = queue.lease(LeaseOptions::new(HOUR)).await.unwrap().unwrap();
    assert!(other.add_item(next("a", "1").delay(secs(5))).await.unwrap());
    assert!(queue.complete(&lease).await.unwrap());
    assert_eq!(queue.get("a").await.unwrap().unwrap().state, State::Delayed);
    assert!(!queue.add_item(item("a")).await.unwrap());
    bench.advance(secs(5));
    assert_eq!(take(&queue).await.data(), &b"1"[..]);
    sound(&queue).await;
}

on_every_engine!(
    a_batch_may_have_all_kinds,
    they_may_be_large,
    events_tell_when_it_is_added,
    what_is_dropped_with_a_queue_is_gone,
    a_plain_queue_may_begin_with_one,
);
