//! Items that are kept after their completion, and their results.

use std::time::Duration;

use leaseq::{CompleteOptions, Item, ItemInfo, Lease, State, WorkQueue};

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

async fn info(queue: &WorkQueue, id: &str) -> ItemInfo {
    queue.get(id).await.unwrap().expect("the item is there")
}

/// An item with this id that is added, leased and completed.
async fn done(queue: &WorkQueue, item: Item, options: CompleteOptions) -> Lease {
    assert!(queue.add_item(item).await.unwrap());
    let lease = take(queue).await;
    assert!(queue.complete_with(&lease, options).await.unwrap());
    lease
}

fn result(result: &'static str) -> CompleteOptions {
    CompleteOptions::new().result(result)
}

/// The queue has no damage, and nothing of it is left once everything is purged and its time is over.
async fn sound(queue: &WorkQueue) {
    let report = queue.check().await.unwrap();
    assert!(report.is_sound(), "{:?}", report.details);
}

async fn a_retained_item_stays_with_its_result(bench: &Bench) {
    let queue = bench.queue().await;
    let lease = done(&queue, item("a").priority(3).retain(HOUR), result("fine")).await;
    let found = info(&queue, "a").await;
    assert_eq!((found.state, found.result.as_deref()), (State::Completed, Some(&b"fine"[..])));
    assert_eq!((&found.data[..], found.priority, found.retain), (&b"a"[..], 3, HOUR));
    assert_eq!(found.ended_at.map(since_1970), Some(bench.now()));
    assert_eq!(found.at.map(since_1970), Some(bench.now() + 3_600_000));
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.completed, counts.leased, counts.totals.completed), (1, 0, 1));
    assert_eq!(list_all(&queue, State::Completed, 10).await, [found]);
    // It has ended: nobody leases, completes or requeues it, and its id is taken.
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert!(!queue.complete_with(&lease, result("other")).await.unwrap());
    assert_eq!(queue.requeue(["a"]).await.unwrap(), [false]);
    assert!(!queue.add_item(item("a")).await.unwrap());
    assert_eq!(info(&queue, "a").await.result.as_deref(), Some(&b"fine"[..]));
    sound(&queue).await;
}

async fn the_clock_decides_when_it_is_gone(bench: &Bench) {
    let queue = bench.queue().await;
    for id in ["a", "b", "c"] {
        done(&queue, item(id).retain(HOUR), result("x")).await;
    }
    bench.advance(HOUR - ms(1));
    assert_eq!(queue.counts().await.unwrap().completed, 3);
    bench.advance(ms(1));
    assert!(queue.get("a").await.unwrap().is_none());
    assert_eq!(queue.counts().await.unwrap().completed, 0);
    assert!(list_all(&queue, State::Completed, 10).await.is_empty());
    assert!(!queue.remove("b").await.unwrap());
    assert!(queue.add_item(item("c")).await.unwrap());
    let found = info(&queue, "c").await;
    assert_eq!((found.state, found.result, found.retain), (State::Ready, None, Duration::ZERO));
    queue.light_clean().await.unwrap();
    sound(&queue).await;
    assert_eq!(queue.counts().await.unwrap().totals.replaced, 0);
}

/// One that has used the queue before anybody retained an item in it.
async fn a_client_that_knows_only_plain_items_completes_nothing_twice(bench: &Bench) {
    let (one, two) = (bench.queue().await, bench.queue().await);
    one.add_item(item("a")).await.unwrap();
    let first = one.lease(leaseq::LeaseOptions::new(secs(1))).await.unwrap().unwrap();
    bench.advance(secs(2));
    let second = take(&two).await;
    assert!(two.complete_with(&second, result("r").retain(HOUR)).await.unwrap());
    assert!(!one.complete(&first).await.unwrap());
    assert_eq!(info(&one, "a").await.result.as_deref(), Some(&b"r"[..]));
    assert!(!one.add_item(item("a")).await.unwrap());
    bench.advance(HOUR);
    assert!(one.add_item(item("a")).await.unwrap());
    sound(&one).await;
}

async fn complete_decides_how_long(bench: &Bench) {
    let queue = bench.queue().await;
    // A result without a retention is dropped.
    done(&queue, item("a"), result("x")).await;
    assert!(queue.get("a").await.unwrap().is_none());
    done(&queue, item("b").retain(HOUR), CompleteOptions::new().retain(Duration::ZERO)).await;
    assert!(queue.get("b").await.unwrap().is_none());
    done(&queue, item("c"), result("").retain(secs(1))).await;
    let found = info(&queue, "c").await;
    assert_eq!((found.result.as_deref(), found.retain), (Some(&b""[..]), Duration::ZERO));
    done(&queue, item("d"), CompleteOptions::new().retain(ms(1))).await;
    let found = info(&queue, "d").await;
    assert_eq!((found.result, found.ended_at.is_some()), (None, true));
    bench.advance(ms(1));
    assert!(queue.get("d").await.unwrap().is_none());
    sound(&queue).await;
}

async fn each_of_a_batch_has_its_own_result(bench: &Bench) {
    let queue = bench.queue().await;
    let items = ["a", "b", "c", "d"].map(|id| match id {
        "d" => item(id),
        _ => item(id).retain(HOUR),
    });
    queue.add_items(items).await.unwrap();
    let leases = queue.lease_many(4, at_once()).await.unwrap();
    let results = [Some("1".into()), None, Some("3".into()), Some("4".into())];
    let options = CompleteOptions::new().results(results);
    assert_eq!(queue.complete_many_with(&leases, options).await.unwrap(), [true; 4]);
    let mut found = Vec::new();
    for id in ["a", "b", "c"] {
        found.push(info(&queue, id).await.result);
    }
    assert_eq!(found, [Some("1".into()), None, Some("3".into())]);
    assert!(queue.get("d").await.unwrap().is_none());
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.completed, counts.totals.completed), (3, 4));
}

async fn calls_at_the_same_time_have_their_own_options(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b", "c", "d"].map(|id| item(id).retain(HOUR))).await.unwrap();
    let leases = queue.lease_many(4, at_once()).await.unwrap();
    let options = [
        result("1").retain(secs(5)),
        result("2"),
        CompleteOptions::new().retain(Duration::ZERO),
        result("4"),
    ];
    let [a, b, c, d] =
        [0, 1, 2, 3].map(|i: usize| queue.complete_with(&leases[i], options[i].clone()));
    let (a, b, c, d) = tokio::join!(a, b, c, d);
    assert_eq!([a, b, c, d].map(Result::unwrap), [true; 4]);
    for (id, expected, kept) in [("a", "1", 5_000), ("b", "2", 3_600_000), ("d", "4", 3_600_000)] {
        let found = info(&queue, id).await;
        assert_eq!(found.result, Some(expected.into()), "{id}");
        assert_eq!(found.at.map(since_1970), Some(bench.now() + kept), "{id}");
    }
    assert!(queue.get("c").await.unwrap().is_none());
}

async fn completing_and_leasing_keeps_results(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b"].map(|id| item(id).retain(HOUR))).await.unwrap();
    let first = take(&queue).await;
    let both = queue.complete_and_lease_with([&first], result("1"), 1, at_once()).await.unwrap();
    assert_eq!((both.completed, ids(&both.leases)), (vec![true], vec!["b".to_owned()]));
    assert_eq!(info(&queue, "a").await.result.as_deref(), Some(&b"1"[..]));
}

async fn whoever_is_first_writes_the_result_whatever_the_state(bench: &Bench) {
    let queue = bench.queue().await;
    // Ready again, delayed, dead, leased by another, and leased by another that completes first.
    let ids = ["ready", "delayed", "dead", "leased", "lost"];
    queue.add_items(ids.map(|id| item(id).retain(HOUR).max_attempts(5))).await.unwrap();
    let late = queue.lease_many(5, at_once()).await.unwrap();
    bench.advance(secs(11));
    let again = queue.lease_many(5, at_once()).await.unwrap();
    assert_eq!(again.len(), 5);
    queue.release(&again[0], Duration::ZERO).await.unwrap();
    queue.release(&again[1], secs(60)).await.unwrap();
    let dead = leaseq::FailOptions::new().dead();
    queue.fail_with(&again[2], "no", dead).await.unwrap();
    assert!(queue.complete_with(&again[4], result("first")).await.unwrap());
    let results = CompleteOptions::new().results(ids.map(|_| Some("late".into())));
    let answers = queue.complete_many_with(&late, results).await.unwrap();
    assert_eq!(answers, [true, true, true, true, false]);
    for id in ids {
        let found = info(&queue, id).await;
        let expected = if id == "lost" { "first" } else { "late" };
        assert_eq!((found.state, found.result), (State::Completed, Some(expected.into())), "{id}");
    }
    // No old entry of a list leads to one of them.
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert!(!queue.complete(&again[3]).await.unwrap());
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.completed, counts.ready, counts.leased, counts.dead), (5, 0, 0, 0));
    assert_eq!(counts.totals.completed, 5);
    sound(&queue).await;
}

async fn strict_completes_only_the_current_lease(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a").retain(HOUR)).await.unwrap();
    let late = take(&queue).await;
    bench.advance(secs(11));
    queue.light_clean().await.unwrap();
    assert!(!queue.complete_with(&late, result("late").strict()).await.unwrap());
    let lease = take(&queue).await;
    assert!(queue.complete_with(&lease, result("now").strict()).await.unwrap());
    assert_eq!(info(&queue, "a").await.result.as_deref(), Some(&b"now"[..]));
}

async fn retained_items_are_removed_and_purged(bench: &Bench) {
    let queue = bench.queue().await;
    for id in ["a", "b", "c"] {
        done(&queue, item(id).retain(HOUR), result("x")).await;
    }
    assert!(queue.remove("b").await.unwrap());
    assert!(queue.get("b").await.unwrap().is_none());
    assert_eq!(queue.purge(State::Completed).await.unwrap(), 2);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.completed, counts.totals.removed), (0, 3));
    sound(&queue).await;
}

async fn many_that_expire_at_once_are_deleted_step_by_step(bench: &Bench) {
    let queue = bench.queue().await;
    let ids: Vec<String> = (0..2_500).map(|i| i.to_string()).collect();
    queue.add_items(ids.iter().map(|id| item(id).retain(HOUR))).await.unwrap();
    while let leases @ [_, ..] = &queue.lease_many(1_000, at_once()).await.unwrap()[..] {
        queue.complete_many(leases).await.unwrap();
    }
    assert_eq!(queue.counts().await.unwrap().completed, 2_500);
    bench.advance(HOUR);
    queue.light_clean().await.unwrap();
    let report = queue.check().await.unwrap();
    assert_eq!((report.is_sound(), report.items), (true, 0));
    // Leasing deletes some, too, where there is no cleaner.
    done(&queue, item("last").retain(HOUR), result("x")).await;
    bench.advance(HOUR);
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert!(queue.add_item(item("other")).await.unwrap());
    take(&queue).await;
    assert_eq!(queue.check().await.unwrap().items, 1);
}

async fn what_is_invalid_changes_nothing(bench: &Bench) {
    let queue = bench.queue().await;
    let too_long = Duration::from_secs(366 * 86_400 + 1);
    for bad in [item("a").retain(too_long), item("a").unique_for(HOUR), item("a").unique("")] {
        assert_eq!(kind(queue.add_item(bad).await), leaseq::ErrorKind::Invalid);
    }
    queue.add_item(item("a").retain(HOUR)).await.unwrap();
    let lease = take(&queue).await;
    let options = [
        CompleteOptions::new().retain(too_long),
        CompleteOptions::new().results([None, None]),
        CompleteOptions::new().result(vec![0; 64 << 20]),
    ];
    for bad in options {
        assert_eq!(kind(queue.complete_with(&lease, bad).await), leaseq::ErrorKind::Invalid);
    }
    assert_eq!(state(&queue, "a").await, Some(State::Leased));
    assert!(queue.complete(&lease).await.unwrap());
}

async fn a_large_result_comes_back(bench: &Bench) {
    let queue = bench.queue().await;
    let large = vec![7; 8 << 20];
    let options = CompleteOptions::new().result(large.clone());
    done(&queue, Item::new(&large).with_id("a").retain(HOUR), options).await;
    let found = info(&queue, "a").await;
    assert!(found.result.as_deref() == Some(&large[..]) && found.data == large);
    bench.advance(HOUR);
    queue.light_clean().await.unwrap();
    sound(&queue).await;
}

async fn nothing_is_left_of_a_dropped_queue(bench: &Bench) {
    let queue = bench.queue().await;
    done(&queue, item("a").retain(HOUR).unique("k").unique_for(HOUR), result("x")).await;
    assert!(queue.drop_queue().await.unwrap());
    let queue = bench.client().await.queue(queue.name()).unwrap();
    assert!(queue.get("a").await.unwrap().is_none());
    assert!(queue.add_item(item("a").unique("k")).await.unwrap());
    sound(&queue).await;
}

on_every_engine!(
    a_client_that_knows_only_plain_items_completes_nothing_twice,
    a_retained_item_stays_with_its_result,
    the_clock_decides_when_it_is_gone,
    complete_decides_how_long,
    each_of_a_batch_has_its_own_result,
    calls_at_the_same_time_have_their_own_options,
    completing_and_leasing_keeps_results,
    whoever_is_first_writes_the_result_whatever_the_state,
    strict_completes_only_the_current_lease,
    retained_items_are_removed_and_purged,
    many_that_expire_at_once_are_deleted_step_by_step,
    what_is_invalid_changes_nothing,
    a_large_result_comes_back,
    nothing_is_left_of_a_dropped_queue,
);
