//! Cancelling items, whatever their state is.

use std::time::Duration;

use leaseq::{CompleteOptions, FailOptions, Item, ItemRef, Lease, LeaseOptions, State, WorkQueue};

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

/// A lease of this item, whose cancellation was requested.
async fn marked(queue: &WorkQueue, item: Item) -> Lease {
    let id = item.id().to_vec();
    assert!(queue.add_item(item).await.unwrap());
    let lease = take(queue).await;
    assert_eq!(lease.id(), id);
    assert!(queue.cancel(&id).await.unwrap());
    lease
}

/// How many items have ended as cancelled, and how many of them are kept.
async fn cancelled(queue: &WorkQueue) -> (u64, u64) {
    let counts = queue.counts().await.unwrap();
    (counts.totals.cancelled, counts.cancelled)
}

async fn what_waits_is_gone(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items([item("a"), item("b").priority(3), item("c").delay(HOUR)]).await.unwrap();
    let answers = queue.cancel_many(["a", "b", "none", "c", "a"]).await.unwrap();
    assert_eq!(answers, [true, true, false, true, false]);
    let (counts, items) = seen(&queue).await;
    assert_eq!((counts.ready, counts.delayed, items.len()), (0, 0, 0));
    assert_eq!((counts.totals.cancelled, counts.totals.removed), (3, 0));
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert!(!queue.cancel("a").await.unwrap());
    assert!(queue.add_item(item("a")).await.unwrap());
    assert_eq!(drain(&queue).await, ["a"]);
    assert_sound(&queue).await;
}

async fn what_waits_is_retained(bench: &Bench) {
    let queue = bench.queue().await;
    let kept = |id: &str| item(id).retain(HOUR).unique(id);
    queue.add_items([kept("a").priority(2), kept("b").delay(secs(5)), item("c")]).await.unwrap();
    let before = queue.get("a").await.unwrap().unwrap();
    assert_eq!(queue.cancel_many(["a", "b", "a", "c"]).await.unwrap(), [true, true, false, true]);
    for id in ["a", "b"] {
        let found = queue.get(id).await.unwrap().unwrap();
        assert_eq!((found.state, found.result.clone()), (State::Cancelled, None));
        assert_eq!(found.ended_at.map(since_1970), Some(bench.now()));
        assert_eq!(found.at.map(since_1970), Some(bench.now() + 3_600_000));
        assert!(!found.cancel_requested);
        // Its id and its key are taken.
        assert!(!queue.add_item(item(id)).await.unwrap());
        assert!(!queue.add_item(item("other").unique(id)).await.unwrap());
        assert!(!queue.cancel(id).await.unwrap());
    }
    assert_ne!(queue.get("a").await.unwrap().unwrap().generation, before.generation);
    assert_eq!(list_all(&queue, State::Cancelled, 10).await.len(), 2);
    assert_eq!(cancelled(&queue).await, (3, 2));
    bench.advance(secs(5));
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert_sound(&queue).await;
    bench.advance(HOUR);
    assert_eq!(cancelled(&queue).await, (3, 0));
    assert!(queue.add_item(kept("a")).await.unwrap());
    assert_eq!(queue.purge(State::Cancelled).await.unwrap(), 0);
    queue.light_clean().await.unwrap();
    assert_sound(&queue).await;
}

async fn a_key_is_free_when_its_item_is_gone(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a").unique("k")).await.unwrap();
    assert!(queue.cancel("a").await.unwrap());
    let lease = marked(&queue, item("b").unique("k")).await;
    assert!(!queue.add_item(item("c").unique("k")).await.unwrap());
    queue.fail(&lease, "", Duration::ZERO).await.unwrap();
    assert!(queue.add_item(item("c").unique("k").unique_for(HOUR)).await.unwrap());
    assert!(queue.cancel("c").await.unwrap());
    assert!(!queue.add_item(item("d").unique("k")).await.unwrap(), "reserved");
    assert_sound(&queue).await;
}

async fn a_completion_beats_it(bench: &Bench) {
    let queue = bench.queue().await;
    for strict in [false, true] {
        let lease = marked(&queue, item("a")).await;
        let found = queue.get("a").await.unwrap().unwrap();
        assert!(found.cancel_requested && found.state == State::Leased);
        assert_eq!(list_all(&queue, State::Leased, 10).await, [found]);
        queue.extend(&lease, HOUR).await.unwrap();
        let options = CompleteOptions::new();
        let options = if strict { options.strict() } else { options };
        assert!(queue.complete_with(&lease, options).await.unwrap());
        assert!(queue.get("a").await.unwrap().is_none());
        assert!(!queue.cancel("a").await.unwrap());
    }
    let lease = marked(&queue, item("b").retain(HOUR)).await;
    let options = CompleteOptions::new().result("done");
    assert!(queue.complete_with(&lease, options).await.unwrap());
    let found = queue.get("b").await.unwrap().unwrap();
    assert_eq!((found.state, found.cancel_requested), (State::Completed, false));
    assert!(!queue.cancel("b").await.unwrap());
    // One whose lease has expired, but was not reclaimed.
    let lease = marked(&queue, item("c")).await;
    bench.advance(secs(20));
    assert!(queue.complete(&lease).await.unwrap());
    assert_eq!(cancelled(&queue).await, (0, 0));
    assert_sound(&queue).await;
}

/// Ends the lease of a marked item in each way. It neither comes back nor dies.
async fn a_lease_that_ends_ends_a_marked_item(bench: &Bench) {
    for retain in [Duration::ZERO, HOUR] {
        for end in ["fail", "fail-later", "dead", "last", "release", "later", "expire"] {
            let queue = bench.client().await.queue(&format!("{end}-{}", retain.as_secs())).unwrap();
            let item = item("a").retain(retain).unique("k").max_attempts(if end == "last" {
                1
            } else {
                9
            });
            let lease = marked(&queue, item).await;
            match end {
                "fail" | "last" => {
                    let state = queue.fail(&lease, "no", Duration::ZERO).await.unwrap();
                    assert_eq!(state, State::Cancelled);
                }
                "fail-later" => {
                    assert_eq!(queue.fail(&lease, "no", HOUR).await.unwrap(), State::Cancelled);
                }
                "dead" => {
                    let dead = FailOptions::new().dead();
                    assert_eq!(
                        queue.fail_with(&lease, "no", dead).await.unwrap(),
                        State::Cancelled
                    );
                }
                "release" => queue.release(&lease, Duration::ZERO).await.unwrap(),
                "later" => queue.release(&lease, secs(1)).await.unwrap(),
                _ => {
                    bench.advance(secs(10));
                    let report = queue.light_clean().await.unwrap();
                    assert_eq!((report.expired, report.died), (1, 0));
                }
            }
            let (counts, items) = seen(&queue).await;
            let live = counts.ready + counts.delayed + counts.leased + counts.dead;
            assert_eq!((live, counts.totals.cancelled, counts.totals.died), (0, 1, 0), "{end}");
            let failures = u64::from(end.starts_with("fail") || ["dead", "last"].contains(&end));
            assert_eq!(counts.totals.failed, failures, "{end}");
            assert_eq!(counts.totals.expired, u64::from(end == "expire"));
            assert_eq!(items.len(), usize::from(!retain.is_zero()), "{end}");
            for found in items {
                assert_eq!((found.state, found.cancel_requested), (State::Cancelled, false));
                assert_eq!(found.ended_at.map(since_1970), Some(bench.now()));
                assert_eq!(u64::from(found.failures), failures);
                assert_eq!(found.last_error, if failures == 1 { "no" } else { "" });
            }
            // It has ended: a late completion is false.
            assert!(!queue.complete(&lease).await.unwrap());
            assert!(is_lost(queue.extend(&lease, secs(1)).await));
            let again = crate::support::item("b").unique("k");
            assert_eq!(queue.add_item(again).await.unwrap(), retain.is_zero());
            assert!(!queue.cancel("a").await.unwrap());
            assert_sound(&queue).await;
        }
    }
}

async fn expired_ones_end_when_others_are_leased(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b", "c", "d"].map(item)).await.unwrap();
    let leases = queue.lease_many(3, at_once()).await.unwrap();
    assert_eq!(queue.cancel_many(["a", "c"]).await.unwrap(), [true, true]);
    bench.advance(secs(10));
    let d = take(&queue).await;
    assert_eq!(d.id(), b"b", "the one that is not marked comes back");
    assert_eq!(cancelled(&queue).await, (2, 0));
    assert_eq!(
        queue.complete_many(&leases).await.unwrap(),
        [false, true, false],
        "who comes late completes what has not ended"
    );
    // The half that leases reclaims too, but not what the other half completes.
    let one = marked_of(&queue, &["d", "e"]).await;
    bench.advance(secs(10));
    let done = queue.complete_and_lease([&one[0]], 5, at_once()).await.unwrap();
    assert_eq!((done.completed, done.leases.len()), (vec![true], 0));
    assert_eq!(cancelled(&queue).await, (3, 0));
    assert_sound(&queue).await;
}

async fn marked_of(queue: &WorkQueue, ids: &[&str]) -> Vec<Lease> {
    queue.add_items(ids.iter().map(item)).await.unwrap();
    let leases = queue.lease_many(ids.len(), at_once()).await.unwrap();
    assert_eq!(crate::support::ids(&leases), ids);
    assert!(queue.cancel_many(ids).await.unwrap().iter().all(|marked| *marked));
    leases
}

async fn a_mark_is_made_once_and_lasts(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    let lease = marked(&queue, item("a")).await;
    assert_eq!(other.cancel_many(["a", "a"]).await.unwrap(), [true, true]);
    assert_eq!(cancelled(&queue).await, (0, 0));
    queue.pause().await.unwrap();
    queue.resume().await.unwrap();
    queue.extend(&lease, HOUR).await.unwrap();
    assert!(!other.add_item(item("a").replace()).await.unwrap());
    assert_eq!(other.bury(["a"], "").await.unwrap(), [false]);
    assert_eq!(other.fail(&lease, "", Duration::ZERO).await.unwrap(), State::Cancelled);
    // The next generation is not marked.
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    assert_eq!(queue.fail(&lease, "", Duration::ZERO).await.unwrap(), State::Ready);
    // What is removed takes its mark along.
    let lease = take(&queue).await;
    assert!(queue.cancel("a").await.unwrap() && queue.remove("a").await.unwrap());
    assert!(is_lost(queue.release(&lease, Duration::ZERO).await));
    let [one, two] = [marked(&queue, item("b")).await, marked(&queue, item("c")).await];
    assert_eq!(queue.purge(State::Leased).await.unwrap(), 2);
    assert!(is_lost(queue.fail(&one, "", Duration::ZERO).await));
    assert!(!queue.complete(&two).await.unwrap());
    assert_eq!(cancelled(&queue).await, (1, 0));
    assert_sound(&queue).await;
}

async fn what_has_ended_is_not_cancelled(bench: &Bench) {
    let queue = bench.queue().await;
    one_of_each_state(&queue).await;
    let states = ["completed", "dead", "leased", "delayed", "ready"];
    let answers = queue.cancel_many(states).await.unwrap();
    assert_eq!(answers, [false, false, true, true, true]);
    assert_eq!(state(&queue, "dead").await, Some(State::Dead));
    assert_eq!(state(&queue, "completed").await, Some(State::Completed));
    assert_sound(&queue).await;
}

async fn only_the_generation_that_was_seen(bench: &Bench) {
    let queue = bench.queue().await;
    for delay in [Duration::ZERO, HOUR] {
        queue.add_item(item("a").delay(delay)).await.unwrap();
        let old = queue.get("a").await.unwrap().unwrap();
        assert!(queue.remove("a").await.unwrap());
        queue.add_item(item("a").delay(delay)).await.unwrap();
        let seen = queue.get("a").await.unwrap().unwrap();
        assert!(seen.is_newer_than(&old.generation) && !old.is_newer_than(&seen.generation));
        assert!(!seen.is_newer_than(&seen.generation) && !seen.is_newer_than("?"));
        let refs = [ItemRef::from(&old), ItemRef::from(&seen), ItemRef::from(&seen)];
        assert_eq!(queue.cancel_many(refs).await.unwrap(), [false, true, false]);
    }
    queue.add_item(item("a")).await.unwrap();
    let seen = queue.get("a").await.unwrap().unwrap();
    let lease = take(&queue).await;
    let other = ItemRef::new("a").if_generation("1234567zzzzz");
    assert!(!queue.cancel(other).await.unwrap());
    assert!(!queue.get("a").await.unwrap().unwrap().cancel_requested);
    assert!(queue.cancel(&seen).await.unwrap());
    assert_eq!(queue.fail(&lease, "", Duration::ZERO).await.unwrap(), State::Cancelled);
}

/// More data than one step copies.
async fn retained_items_of_any_size(bench: &Bench) {
    let queue = bench.queue().await;
    let large = |i: u8| Item::new(vec![i; 7 << 20]).with_id([i]).retain(HOUR);
    queue.add_items((0..4).map(large)).await.unwrap();
    queue.add_item(item("small")).await.unwrap();
    let ids = [&[0][..], &[1], &[2], b"small", &[3], &[2]];
    let answers = queue.cancel_many(ids).await.unwrap();
    assert_eq!(answers, [true, true, true, true, true, false]);
    assert_eq!(cancelled(&queue).await, (5, 4));
    let found = queue.get([3]).await.unwrap().unwrap();
    assert_eq!((found.state, found.data.len(), found.data[0]), (State::Cancelled, 7 << 20, 3));
    assert_sound(&queue).await;
}

async fn a_whole_batch(bench: &Bench) {
    let queue = bench.queue().await;
    let ids: Vec<String> = (0..2_500).map(|i| i.to_string()).collect();
    queue.add_items(ids.iter().map(item)).await.unwrap();
    let held = queue.lease_many(500, LeaseOptions::new(HOUR).wait(ms(0))).await.unwrap();
    assert_eq!(queue.cancel_many(&ids).await.unwrap(), vec![true; 2_500]);
    assert_eq!(cancelled(&queue).await, (2_000, 0));
    let ended = queue.fail_many(held.iter().map(|lease| (lease, "no")), HOUR).await.unwrap();
    assert!(ended.into_iter().all(|state| state.unwrap() == State::Cancelled));
    assert_eq!(cancelled(&queue).await, (2_500, 0));
    assert!(queue.cancel_many(Vec::<String>::new()).await.unwrap().is_empty());
}

/// A call that was given up gives its lease back, which ends the item.
async fn a_marked_lease_that_reaches_nobody(bench: &Bench) {
    let queue = bench.queue().await;
    let lease = marked(&queue, item("a")).await;
    queue.give_back([&lease]);
    let is_gone = async || queue.get("a").await.unwrap().is_none();
    assert!(leaseq_test_support::eventually(secs(20), is_gone).await);
    assert_eq!(cancelled(&queue).await, (1, 0));
}

on_every_engine!(
    what_waits_is_gone,
    what_waits_is_retained,
    a_key_is_free_when_its_item_is_gone,
    a_completion_beats_it,
    a_lease_that_ends_ends_a_marked_item,
    expired_ones_end_when_others_are_leased,
    a_mark_is_made_once_and_lasts,
    what_has_ended_is_not_cancelled,
    only_the_generation_that_was_seen,
    retained_items_of_any_size,
    a_whole_batch,
    a_marked_lease_that_reaches_nobody,
);

/// A queue in which only waiting items were cancelled stays as it was.
#[tokio::test]
async fn only_a_mark_makes_a_queue_extended() {
    let bench = crate::support::redis::bench();
    let queue = bench.queue().await;
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    let lease = take(&queue).await;
    assert!(queue.cancel("b").await.unwrap());
    let dump = bench.backend().dump();
    let has = |text: &str| {
        let mut values = dump.values().flatten();
        values.any(|value| value == text.as_bytes())
    };
    assert!(has("2") && !has("2+1"));
    assert!(queue.cancel("a").await.unwrap());
    assert!(bench.backend().dump().values().flatten().any(|value| value == b"2+1"));
    // The client learns it by the answer of the plain script.
    assert_eq!(queue.fail(&lease, "", Duration::ZERO).await.unwrap(), State::Cancelled);
    assert_sound(&queue).await;
}
