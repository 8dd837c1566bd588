//! Held items: their order, what else happens to them, and who wakes when a place is free.

use std::time::Duration;

use leaseq::{Lease, LeaseOptions, Rate, Revision, SettingsChange, State, WorkQueue};
use tokio::task::JoinHandle;

use super::keys::{add, complete, got, keyed, leases, limit};
use crate::support::*;

/// Waiting calls poll every 2 s anyway: an earlier answer was a wake-up.
const WOKEN: Duration = Duration::from_millis(1500);

/// Items `1` to `count` of the key `k`, of which the first is leased and the others are held.
async fn held(queue: &WorkQueue, count: usize) -> Lease {
    add(queue, (1..=count).map(|i| keyed(i.to_string(), "k"))).await;
    let lease = take(queue).await;
    assert_eq!(lease.id(), b"1");
    assert!(got(queue).await.is_empty());
    assert_eq!(queue.counts().await.unwrap().held, count as u64 - 1);
    lease
}

async fn two_places_that_become_free_one_after_the_other(bench: &Bench) {
    let queue = bench.queue().await;
    limit(&queue, 2).await;
    add(&queue, (1..=6).map(|i| keyed(i.to_string(), "k"))).await;
    let first = leases(&queue, 1000).await;
    complete(&queue, &first[0]).await;
    complete(&queue, &first[1]).await;
    let next = leases(&queue, 1000).await;
    assert_eq!(ids(&next), ["3", "4"]);
    complete(&queue, &next[1]).await;
    assert_eq!(got(&queue).await, ["5"]);
    complete(&queue, &next[0]).await;
    assert_eq!(got(&queue).await, ["6"]);
}

async fn a_higher_priority_comes_first_and_nothing_else(bench: &Bench) {
    let queue = bench.queue().await;
    let lease = held(&queue, 3).await;
    add(&queue, [keyed("same", "k"), keyed("high", "k").priority(9), item("other")]).await;
    complete(&queue, &lease).await;
    let next = leases(&queue, 1000).await;
    assert_eq!(ids(&next), ["high", "other"]);
    complete(&queue, &next[0]).await;
    for id in ["2", "3", "same"] {
        let lease = take(&queue).await;
        assert_eq!(lease.id_str(), Some(id));
        complete(&queue, &lease).await;
    }
    assert_sound(&queue).await;
}

async fn held_items_stand_where_they_were(bench: &Bench) {
    let queue = bench.queue().await;
    let priorities = [("p0", 0), ("p5", 5), ("p9", 9)];
    add(&queue, [keyed("first", "k").priority(9)]).await;
    let lease = take(&queue).await;
    add(&queue, priorities.map(|(id, priority)| keyed(id, "k").priority(priority))).await;
    assert!(got(&queue).await.is_empty());
    add(&queue, [item("7").priority(7), item("5").priority(5), item("0")]).await;
    complete(&queue, &lease).await;
    limit(&queue, 3).await;
    assert_eq!(got(&queue).await, ["p9", "7", "p5", "5", "p0", "0"]);
    assert_sound(&queue).await;
}

async fn nobody_overtakes_when_the_limit_is_raised(bench: &Bench) {
    let queue = bench.queue().await;
    let lease = held(&queue, 4).await;
    limit(&queue, 2).await;
    add(&queue, [keyed("late", "k")]).await;
    assert_eq!(take(&queue).await.id(), b"2");
    assert!(got(&queue).await.is_empty());
    queue.set_key_limits([("k", Some(3))]).await.unwrap();
    add(&queue, [keyed("later", "k")]).await;
    assert_eq!(got(&queue).await, ["3"]);
    complete(&queue, &lease).await;
    assert_eq!(got(&queue).await, ["4"]);
    assert_sound(&queue).await;
}

async fn a_raised_limit_opens_many_keys(bench: &Bench) {
    let queue = bench.queue().await;
    const KEYS: usize = 1_500;
    add(&queue, (0..2 * KEYS).map(|i| keyed(i.to_string(), format!("key {}", i % KEYS)))).await;
    let mut seen = got(&queue).await.len();
    seen += got(&queue).await.len();
    assert_eq!(seen, KEYS);
    assert!(got(&queue).await.is_empty());
    assert_eq!(queue.counts().await.unwrap().held, KEYS as u64);
    limit(&queue, 2).await;
    let mut next = Vec::new();
    while next.len() < KEYS {
        let more = got(&queue).await;
        assert!(!more.is_empty(), "{}", next.len());
        next.extend(more);
    }
    next.sort_by_key(|id| id.parse::<usize>().unwrap());
    assert_eq!(next, (KEYS..2 * KEYS).map(|i| i.to_string()).collect::<Vec<_>>());
    assert_sound(&queue).await;
}

async fn operators_change_held_items(bench: &Bench) {
    let queue = bench.queue().await;
    let lease = held(&queue, 9).await;
    assert_eq!(queue.remove_many(["2"]).await.unwrap(), [true]);
    assert!(queue.cancel("3").await.unwrap());
    assert_eq!(queue.bury(["4"], "bad").await.unwrap(), [true]);
    assert_eq!(state(&queue, "4").await, Some(State::Dead));
    assert_eq!(queue.requeue(["4", "5"]).await.unwrap(), [true, false]);
    let revision = Revision::new().data("new").priority(1);
    assert!(queue.revise("6", revision).await.unwrap());
    assert!(queue.add_item(keyed("7", "k").replace()).await.unwrap());
    assert!(!queue.add_item(keyed("8", "k")).await.unwrap(), "it has the id");
    assert!(got(&queue).await.is_empty());
    assert_eq!(queue.counts().await.unwrap().held, 6);
    let mut last = lease;
    for id in ["6", "5", "8", "9", "4", "7"] {
        complete(&queue, &last).await;
        last = take(&queue).await;
        assert_eq!(last.id_str(), Some(id));
        assert_eq!(&last.data()[..], if id == "6" { b"new" } else { id.as_bytes() });
        assert!(got(&queue).await.is_empty());
    }
    assert_sound(&queue).await;
}

async fn purging_held_items(bench: &Bench) {
    let queue = bench.queue().await;
    let lease = held(&queue, 1_500).await;
    add(&queue, [keyed("ready", "k")]).await;
    assert_eq!(queue.purge(State::Ready).await.unwrap(), 1);
    assert_eq!(queue.purge(State::Held).await.unwrap(), 1_499);
    add(&queue, [keyed("new", "k")]).await;
    complete(&queue, &lease).await;
    assert_eq!(got(&queue).await, ["new"]);
    assert_sound(&queue).await;
}

async fn held_items_expire(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, [keyed("1", "k")]).await;
    let lease = take(&queue).await;
    let short = |id: &str| keyed(id, "k").expires_in(secs(5));
    add(&queue, [short("2"), keyed("3", "k"), short("4")]).await;
    assert!(got(&queue).await.is_empty());
    bench.advance(secs(5));
    assert_eq!(state(&queue, "2").await, Some(State::Dead));
    complete(&queue, &lease).await;
    let next = take(&queue).await;
    assert_eq!(next.id(), b"3");
    complete(&queue, &next).await;
    assert!(got(&queue).await.is_empty());
    queue.light_clean().await.unwrap();
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.dead, counts.held, counts.ready), (2, 0, 0));
    assert_sound(&queue).await;
}

async fn nothing_is_held_while_nothing_may_be_leased(bench: &Bench) {
    let queue = bench.queue().await;
    let lease = held(&queue, 3).await;
    queue.pause().await.unwrap();
    complete(&queue, &lease).await;
    assert!(got(&queue).await.is_empty());
    queue.resume().await.unwrap();
    let next = leases(&queue, 1000).await;
    assert_eq!(ids(&next), ["2"]);
    let rate = Rate::new(1, secs(60));
    queue.configure(SettingsChange::new().rate(rate)).await.unwrap().unwrap();
    add(&queue, [item("other")]).await;
    let other = take(&queue).await;
    assert_eq!(other.id(), b"other");
    complete(&queue, &other).await;
    complete(&queue, &next[0]).await;
    assert!(got(&queue).await.is_empty());
    bench.advance(secs(60));
    assert_eq!(got(&queue).await, ["3"]);
    assert_sound(&queue).await;
}

/// A call that has already asked for an item.
async fn begin(queue: &WorkQueue) -> JoinHandle<Option<Lease>> {
    let worker = queue.clone();
    let options = LeaseOptions::new(secs(60)).wait(secs(60));
    let call = tokio::spawn(async move { worker.lease(options).await.unwrap() });
    for _ in 0..3 {
        queue.counts().await.unwrap();
    }
    call
}

async fn a_waiting_call_wakes_when_a_place_is_free(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    for end in 0..7 {
        let name = |i: usize| format!("{end} {i}");
        add(&queue, [0, 1].map(|i| keyed(name(i), "k"))).await;
        let options = LeaseOptions::new(secs(60)).wait(Duration::ZERO);
        let lease = queue.lease(options).await.unwrap().unwrap();
        let from = if end % 2 == 0 { &queue } else { &other };
        let call = begin(from).await;
        tokio::time::timeout(secs(10), async {
            while queue.counts().await.unwrap().held == 0 {
                tokio::task::yield_now().await;
            }
        })
        .await
        .expect("the waiting call has looked");
        match end {
            0 | 1 => complete(&queue, &lease).await,
            2 => assert!(queue.remove(name(0)).await.unwrap()),
            3 => assert_eq!(queue.purge(State::Leased).await.unwrap(), 1),
            4 => limit(&queue, 2).await,
            5 => queue.set_key_limits([("k", Some(2))]).await.unwrap(),
            _ => drop(queue.fail(&lease, "", secs(3_600)).await.unwrap()),
        }
        let woken = tokio::time::timeout(WOKEN, call).await.expect("it wakes").unwrap().unwrap();
        assert_eq!(woken.id_str(), Some(&*name(1)), "{end}");
        queue.purge(State::Leased).await.unwrap();
        limit(&queue, None).await;
        queue.set_key_limits([("k", None)]).await.unwrap();
    }
}

/// As at the front of a ready list.
async fn expired_items_come_back_before_due_ones(bench: &Bench) {
    let queue = bench.queue().await;
    limit(&queue, 2).await;
    add(&queue, (1..=4).map(|i| keyed(i.to_string(), "k"))).await;
    let options = LeaseOptions::new(ms(50)).wait(Duration::ZERO);
    let first = queue.lease_many(4, options).await.unwrap();
    assert_eq!(ids(&first), ["1", "2"]);
    queue.release(&first[1], ms(20)).await.unwrap();
    bench.advance(ms(60));
    assert_eq!(got(&queue).await, ["1", "2"]);
    limit(&queue, 4).await;
    assert_eq!(got(&queue).await, ["3", "4"]);
    assert_sound(&queue).await;
}

/// No sweep has found it yet. As a ready one does.
async fn a_held_item_that_has_expired_is_requeued_where_it_was(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, [keyed("1", "k"), keyed("2", "k").expires_in(ms(50)), keyed("3", "k")]).await;
    let lease = take(&queue).await;
    assert!(got(&queue).await.is_empty());
    bench.advance(ms(60));
    assert_eq!(queue.requeue(["2"]).await.unwrap(), [true]);
    complete(&queue, &lease).await;
    assert_eq!(got(&queue).await, ["2"]);
    assert_sound(&queue).await;
}

on_every_engine!(
    two_places_that_become_free_one_after_the_other,
    a_higher_priority_comes_first_and_nothing_else,
    held_items_stand_where_they_were,
    nobody_overtakes_when_the_limit_is_raised,
    expired_items_come_back_before_due_ones,
    a_held_item_that_has_expired_is_requeued_where_it_was,
    a_raised_limit_opens_many_keys,
    operators_change_held_items,
    purging_held_items,
    held_items_expire,
    nothing_is_held_while_nothing_may_be_leased,
    a_waiting_call_wakes_when_a_place_is_free,
);
