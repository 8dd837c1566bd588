//! The rate of each key. See `keys.rs` for their limits.

use std::time::Duration;

use leaseq::{Item, LeaseOptions, Rate, SettingsChange, State, WorkQueue};

use super::keys::{add, complete, keyed};
use super::rate::rate;
use crate::support::rates::{self, Set, begin_of};
use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

async fn set(queue: &WorkQueue, rate: impl Into<Option<Rate>>, limit: u32) -> leaseq::Settings {
    let change = SettingsChange::new().key_rate(rate).key_limit(limit);
    queue.configure(change).await.unwrap().unwrap()
}

/// Leases that outlive the test.
async fn leases(queue: &WorkQueue, count: usize) -> Vec<leaseq::Lease> {
    queue.lease_many(count, LeaseOptions::new(HOUR * 24).wait(Duration::ZERO)).await.unwrap()
}

/// The ids of all items that can be leased now.
async fn got(queue: &WorkQueue) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let some = leases(queue, 1000).await;
        if some.is_empty() {
            return all;
        }
        all.extend(ids(&some));
    }
}

/// How many keys have a meter.
fn meters(bench: &Bench) -> usize {
    let dump = bench.backend().dump();
    let rows = dump.keys().filter(|name| name.starts_with(b"key_meter ")).count();
    let scored = dump.get(&b"leaseq:{jobs}:meters"[..]);
    rows + scored.map_or(0, |keys| keys.len() / 2)
}

async fn no_more_than_the_burst_of_each_key(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    let settings = set(&queue, rate(3, ms(10), 2), 100).await;
    assert_eq!(settings.key_rate, Some(rate(3, ms(10), 2)));
    assert_eq!(other.settings().await.unwrap(), settings);
    add(&queue, (1..=9).map(|n| keyed(format!("a{n}"), "a"))).await;
    add(&queue, (1..=3).map(|n| keyed(format!("b{n}"), "b"))).await;
    add(&queue, [item("plain")]).await;
    assert_eq!(got(&queue).await, ["a1", "a2", "b1", "b2", "plain"]);
    assert!(got(&other).await.is_empty());
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.held, counts.rate_limited), (0, 8, false));
    // One after 10/3 ms, another one after 20/3 ms.
    let mut seen = Vec::new();
    for _ in 0..10 {
        bench.advance(ms(1));
        seen.push(got(&other).await.concat());
    }
    assert_eq!(seen, ["", "", "", "a3b3", "", "", "a4", "", "", ""]);
    bench.advance(ms(1));
    assert_eq!(got(&queue).await, ["a5"], "a step is rounded up to a whole microsecond");
    bench.advance(HOUR);
    assert_eq!(got(&queue).await, ["a6", "a7"], "no more than the burst");
    assert_sound(&queue).await;
    let state = |found: leaseq::ItemInfo| found.state;
    assert_eq!(queue.get("a8").await.unwrap().map(state), Some(State::Held));
}

async fn nothing_is_refunded_and_a_lost_place_is_no_lease(bench: &Bench) {
    let queue = bench.queue().await;
    set(&queue, rate(1, secs(1), 2), 1).await;
    add(&queue, ["a1", "a2", "a3", "a4"].map(|id| keyed(id, "a"))).await;
    // The limit holds too.
    let first = leases(&queue, 10).await;
    assert_eq!(ids(&first), ["a1"]);
    queue.release(&first[0], Duration::ZERO).await.unwrap();
    let again = leases(&queue, 10).await;
    assert_eq!(ids(&again), ["a1"]);
    queue.release(&again[0], Duration::ZERO).await.unwrap();
    assert!(got(&queue).await.is_empty(), "both are used up");
    bench.advance(ms(999));
    assert!(got(&queue).await.is_empty());
    bench.advance(ms(1));
    let again = leases(&queue, 10).await;
    assert_eq!(ids(&again), ["a1"], "it had come back to the front");
    // Its place is free when its rate is not.
    complete(&queue, &again[0]).await;
    assert!(got(&queue).await.is_empty());
    // And its rate is free when its place is not.
    bench.advance(secs(1));
    let second = leases(&queue, 10).await;
    assert_eq!(ids(&second), ["a2"]);
    bench.advance(secs(2));
    assert!(got(&queue).await.is_empty());
    let done = queue.complete_and_lease(&second, 5, at_once()).await.unwrap();
    assert_eq!((done.completed, ids(&done.leases)), (vec![true], vec!["a3".to_owned()]));
    assert_sound(&queue).await;
}

/// Those of different keys that are allowed at the same time are leased in the order of the queue.
async fn held_items_keep_their_order(bench: &Bench) {
    let queue = bench.queue().await;
    set(&queue, rate(1, secs(1), 1), 100).await;
    let of = |id: &str| keyed(id, &id[..1]);
    add(&queue, ["a1", "b1", "c1", "c2", "a2", "b2", "b3", "a3", "c3"].map(of)).await;
    assert_eq!(got(&queue).await, ["a1", "b1", "c1"]);
    add(&queue, [of("b0").priority(3)]).await;
    assert!(got(&queue).await.is_empty());
    bench.advance(secs(1));
    add(&queue, [item("plain")]).await;
    assert_eq!(ids(&leases(&queue, 2).await), ["b0", "c2"]);
    assert_eq!(got(&queue).await, ["a2", "plain"]);
    bench.advance(secs(1));
    assert_eq!(got(&queue).await, ["b2", "a3", "c3"]);
    bench.advance(secs(1));
    assert_eq!(got(&queue).await, ["b3"]);
    assert_sound(&queue).await;
}

async fn a_change_holds_at_once(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    set(&queue, rate(1, HOUR, 2), 1_000).await;
    add(&queue, (0..100).map(|n| keyed(n.to_string(), "a"))).await;
    assert_eq!(got(&queue).await.len(), 2);
    // Faster, with the same burst: what is used up is cut to the new one.
    set(&other, rate(10, secs(1), 2), 1_000).await;
    assert_eq!(got(&queue).await.len(), 0);
    bench.advance(ms(100));
    assert_eq!(got(&queue).await.len(), 1);
    // A higher burst adds to it, a lower one cuts.
    set(&other, rate(10, secs(1), 7), 1_000).await;
    assert_eq!(got(&queue).await.len(), 5);
    set(&other, rate(10, secs(1), 1), 1_000).await;
    assert_eq!(got(&queue).await.len(), 0);
    bench.advance(ms(100));
    assert_eq!(got(&queue).await.len(), 1);
    // Without a rate all are leased. What was used up stays so until its time has passed.
    set(&other, None, 50).await;
    assert_eq!(got(&queue).await.len(), 50 - 9);
    set(&other, rate(10, secs(1), 1), 1_000).await;
    assert_eq!(got(&queue).await.len(), 0);
    bench.advance(ms(100));
    assert_eq!(got(&queue).await.len(), 1);
    assert_sound(&queue).await;
}

async fn operators_change_items_that_wait_for_a_rate(bench: &Bench) {
    let queue = bench.queue().await;
    set(&queue, rate(1, secs(60), 1), 100).await;
    add(&queue, (1..=8).map(|n| keyed(n.to_string(), "a"))).await;
    add(&queue, [keyed("9", "a").expires_in(secs(90))]).await;
    assert_eq!(got(&queue).await, ["1"]);
    assert!(queue.cancel("2").await.unwrap());
    assert!(queue.remove("3").await.unwrap());
    queue.bury(["4"], "").await.unwrap();
    queue.revise("5", leaseq::Revision::new().priority(0)).await.unwrap();
    queue.pause().await.unwrap();
    bench.advance(secs(60));
    assert!(got(&queue).await.is_empty());
    queue.resume().await.unwrap();
    assert_eq!(got(&queue).await, ["6"]);
    bench.advance(secs(60));
    assert_eq!(got(&queue).await, ["7"]);
    bench.advance(secs(60));
    // 9 has expired.
    assert_eq!(queue.purge(State::Held).await.unwrap(), 2, "5 and 8");
    bench.advance(HOUR);
    assert!(got(&queue).await.is_empty());
    assert_eq!(state(&queue, "9").await, Some(State::Dead));
    assert_sound(&queue).await;
}

async fn the_queue_has_a_rate_too(bench: &Bench) {
    let queue = bench.queue().await;
    set(&queue, rate(1, secs(1), 2), 100).await;
    let change = SettingsChange::new().rate(rate(1, secs(1), 3));
    queue.configure(change).await.unwrap().unwrap();
    add(&queue, ["a1", "a2", "a3", "a4"].map(|id| keyed(id, "a"))).await;
    add(&queue, ["b1", "b2"].map(|id| keyed(id, "b"))).await;
    assert_eq!(got(&queue).await, ["a1", "a2", "b1"], "a key does not use up the queue's rate");
    bench.advance(secs(1));
    assert_eq!(got(&queue).await, ["a3"]);
    bench.advance(secs(1));
    assert_eq!(got(&queue).await, ["a4"]);
    bench.advance(secs(1));
    assert_eq!(got(&queue).await, ["b2"]);
    assert_sound(&queue).await;
}

async fn a_thousand_in_one_call(bench: &Bench) {
    let queue = bench.queue().await;
    set(&queue, rate(1_000, secs(1), 600), 1_000).await;
    add(&queue, (0..1_000).map(|n| keyed(format!("a{n}"), "a"))).await;
    add(&queue, (0..1_000).map(|n| keyed(format!("{n}"), n.to_string()))).await;
    // A step has a budget, so it may take two.
    let mut first = leases(&queue, 1_000).await;
    if first.len() < 1_000 {
        first.extend(leases(&queue, 1_000 - first.len()).await);
    }
    let of_a = first.iter().filter(|lease| lease.key() == Some(b"a")).count();
    assert_eq!((first.len(), of_a), (1_000, 600));
    bench.advance(ms(150));
    let options = LeaseOptions::new(HOUR * 24).wait(Duration::ZERO);
    let done = queue.complete_and_lease(&first, 1_000, options).await.unwrap();
    assert!(done.completed.into_iter().all(|done| done));
    let mut second = ids(&done.leases);
    second.extend(got(&queue).await);
    let of_a: Vec<_> = second.iter().filter(|id| id.starts_with('a')).cloned().collect();
    let expected: Vec<String> = (600..750).map(|n| format!("a{n}")).collect();
    assert_eq!((second.len(), of_a), (750, expected));
    assert_sound(&queue).await;
}

/// Meters of keys that have refilled go, with the next leases or a clean.
async fn a_key_that_has_refilled_leaves_nothing_behind(bench: &Bench) {
    let queue = bench.queue().await;
    set(&queue, rate(1, secs(10), 1), 5).await;
    for round in 0..5 {
        add(&queue, (0..700).map(|n| keyed(format!("{round} {n}"), format!("{round} {n}")))).await;
        let all = leases(&queue, 1_000).await;
        assert_eq!(all.len(), 700);
        assert!(queue.complete_many(&all).await.unwrap().into_iter().all(|done| done));
        assert!(meters(bench) <= 700);
        bench.advance(secs(11));
    }
    assert!(meters(bench) > 0);
    let next = queue.light_clean().await.unwrap().next_in;
    assert_eq!((meters(bench), next), (0, None));
    assert_sound(&queue).await;
}

/// Many keys that are allowed in the same millisecond.
async fn many_keys_open_at_once(bench: &Bench) {
    const KEYS: usize = 3_000;
    let queue = bench.queue().await;
    set(&queue, rate(1, secs(10), 1), 5).await;
    for round in 0..2 {
        add(&queue, (0..KEYS).map(|n| keyed(format!("{round} {n}"), n.to_string()))).await;
    }
    assert_eq!(got(&queue).await.len(), KEYS);
    assert_eq!(queue.counts().await.unwrap().held as usize, KEYS);
    bench.advance(ms(9_999));
    assert_eq!(got(&queue).await.len(), 0);
    bench.advance(ms(1));
    let mut second = got(&queue).await;
    second.sort_unstable();
    second.dedup();
    assert_eq!(second.len(), KEYS);
    assert!(second.iter().all(|id| id.starts_with('1')));
    assert_sound(&queue).await;
}

/// A file of the embedded engine never lets its clock go back.
async fn the_clock_is_set(bench: &Bench) {
    let queue = bench.queue().await;
    set(&queue, rate(1, secs(10), 2), 100).await;
    add(&queue, (0..9).map(|n| keyed(n.to_string(), "a"))).await;
    assert_eq!(got(&queue).await.len(), 2);
    bench.advance(HOUR);
    assert_eq!(got(&queue).await.len(), 2);
    let early = bench.now() - 1_800_000;
    bench.backend().set_clock(early);
    assert_eq!(got(&queue).await.len(), 0);
    // What is used up is cut to the burst, and the key is not held for half an hour.
    bench.backend().set_clock(early + 9_999);
    assert_eq!(got(&queue).await.len(), 0);
    bench.backend().set_clock(early + 10_000);
    assert_eq!((got(&queue).await.len(), got(&queue).await.len()), (1, 0));
    assert_sound(&queue).await;
}

/// Leases at random times, with another rate now and then: each key keeps to the rate, and the order of its items stays.
async fn random_leases_keep_to_the_rate(bench: &Bench) {
    let queue = bench.queue().await;
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut random = seed | 1;
    let mut choose = move |limit: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % limit
    };
    let (mut begins, mut sets, mut order) = ([const { Vec::new() }; 3], Vec::new(), [0; 3]);
    for step in 0..300 {
        if step % 50 == 0 {
            // The leases of one millisecond are all before or all after a change.
            bench.advance(ms(1));
            let period = ms([7, 100, 1000][choose(3) as usize]);
            let rate = rate(1 + choose(5) as u32, period, 1 + choose(4) as u32);
            set(&queue, rate, 1 + choose(4) as u32).await;
            sets.push(Set { at: bench.now(), rate });
        }
        add(&queue, (0..3).map(|key| keyed(format!("{key} {step}"), key.to_string()))).await;
        let duration = secs(10);
        let options = LeaseOptions::new(duration).wait(Duration::ZERO);
        let some = queue.lease_many(1 + choose(9) as usize, options).await.unwrap();
        for lease in &some {
            let id = lease.id_str().unwrap();
            let (key, number) = id.split_once(' ').unwrap();
            let key: usize = key.parse().unwrap();
            begins[key].push(begin_of(lease, duration));
            assert_eq!(number, order[key].to_string(), "the order of key {key}");
            order[key] += 1;
        }
        queue.complete_many(&some).await.unwrap();
        bench.advance(ms(choose(60)));
    }
    // Another rate forgets which part of a lease was used up.
    for (n, set) in sets.iter().enumerate() {
        let end = sets.get(n + 1).map_or(u64::MAX, |next| next.at);
        for begins in &begins {
            let of_set = begins.iter().copied().filter(|at| (set.at..end).contains(at));
            rates::check(&[*set], &of_set.collect::<Vec<_>>()).unwrap();
        }
    }
    assert_sound(&queue).await;
}

async fn a_waiting_call_wakes_in_time(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    let at = set(&queue, rate(10, secs(1), 1), 1).await.revision;
    add(&queue, (0..12).map(|n| keyed(n.to_string(), "a"))).await;
    let lasts = secs(60);
    let mut begins = Vec::new();
    for n in 0..12 {
        let queue = if n % 2 == 0 { &queue } else { &other };
        let lease = queue.lease(LeaseOptions::new(lasts).wait(secs(20))).await.unwrap().unwrap();
        assert_eq!(lease.id_str(), Some(&n.to_string()[..]));
        begins.push(begin_of(&lease, lasts));
        complete(queue, &lease).await;
    }
    rates::check(&[Set { at, rate: rate(10, secs(1), 1) }], &begins).unwrap();
    let mut late: Vec<u64> = begins.windows(2).map(|pair| pair[1] - pair[0] - 100).collect();
    late.sort_unstable();
    assert!(late[late.len() / 2] <= 20, "{late:?}");
}

async fn a_rate_that_is_used_up_for_too_long_is_invalid(bench: &Bench) {
    let queue = bench.queue().await;
    let day = HOUR * 24;
    for (rate, says) in [
        (rate(1, day, 367), "a burst of 367"),
        (rate(0, day, 1), "a rate of 0"),
        (rate(1, day * 32, 1), "the period of a rate"),
    ] {
        let error = queue.configure(SettingsChange::new().key_rate(rate)).await.unwrap_err();
        assert_eq!(error.kind(), leaseq::ErrorKind::Invalid);
        assert!(error.to_string().contains(says), "{error}");
    }
    assert_eq!(queue.settings().await.unwrap().revision, 0);
    let highest = rate(1, day, 366);
    assert_eq!(set(&queue, highest, 1).await.key_rate, Some(highest));
    add(&queue, [Item::new("x").key("k"), Item::new("x").key("k")]).await;
    assert_eq!(got(&queue).await.len(), 1);
}

on_every_engine!(
    no_more_than_the_burst_of_each_key,
    nothing_is_refunded_and_a_lost_place_is_no_lease,
    held_items_keep_their_order,
    a_change_holds_at_once,
    operators_change_items_that_wait_for_a_rate,
    the_queue_has_a_rate_too,
    a_thousand_in_one_call,
    a_key_that_has_refilled_leaves_nothing_behind,
    many_keys_open_at_once,
    random_leases_keep_to_the_rate,
    a_waiting_call_wakes_in_time,
    a_rate_that_is_used_up_for_too_long_is_invalid,
);

#[tokio::test]
async fn the_clock_of_a_server_is_set() {
    the_clock_is_set(&redis::bench()).await;
}
