//! Keys. See [`super`] for how to read the histories.

use crate::faults::checker::history_builder::{CLOCK, HistoryBuilder, ms, span};
use crate::faults::history::Outcome::{self, No, NotDone, Unknown, Yes};
use crate::faults::history::{Ask, How, LimitSet, Options, RateSet, ServerClock};

/// Somebody sets the limit of a key, or of all.
fn set(builder: &mut HistoryBuilder, at: u64, key: &str, limit: u64, outcome: Outcome) {
    let key = (!key.is_empty()).then(|| key.to_owned());
    let set = LimitSet { span: span(at, at + 1), key, limit: Some(limit), outcome };
    builder.0.limits.push(set);
}

/// Items with these names, of one key with this limit, added one after the other.
fn of_one_key(limit: u64, ids: &[&str]) -> HistoryBuilder {
    let mut builder = HistoryBuilder::new();
    set(&mut builder, 0, "", limit, Yes);
    for (n, id) in ids.iter().enumerate() {
        let options = Options { limit_key: Some("k".into()), ..Options::default() };
        builder.add_with(2 * n as u64, id, n as u64, Yes, options);
    }
    builder
}

/// Two leases, of which the second is given at this time, and the first is settled at 60 ms.
fn two(limit: u64, second: u64, how: How, outcome: Outcome) -> HistoryBuilder {
    let mut builder = of_one_key(limit, &["a", "b"]);
    let a = builder.lease(10, "a", 0);
    builder.settle(60, a, how, outcome);
    let b = builder.lease(second, "b", 1);
    builder.settle(second + 5, b, How::Complete, Yes);
    builder
}

#[test]
fn one_lease_too_many_is_caught() {
    two(2, 20, How::Release, Yes).is_clean_except("is lost");
    two(1, 11, How::Complete, Yes).is_caught("its limit is 1");
    two(1, 20, How::Complete, Yes).is_caught("its limit is 1");
    two(1, 20, How::Complete, Unknown).is_caught("its limit is 1");
    // The first one was settled, or may have been; a completion that returned false has ended nothing.
    two(1, 70, How::Complete, Yes).is_clean();
    two(1, 61, How::Complete, Unknown).is_clean();
    let mut late = of_one_key(1, &["a", "b"]);
    let a = late.lease(10, "a", 0);
    late.settle(12, a, How::CompleteStrict, No);
    let b = late.lease(20, "b", 1);
    late.settle(30, b, How::Complete, Yes);
    assert!(super::check(&late.0).violations.iter().any(|one| one.what.contains("its limit is 1")));
    // Its deadline has passed.
    let mut expired = of_one_key(1, &["a", "b"]);
    let a = expired.lease(10, "a", 0);
    let b = expired.lease(115, "b", 1);
    expired.settle(120, b, How::Complete, Yes);
    expired.settle(150, a, How::Complete, Yes).is_clean();
    let mut jumps = two(1, 20, How::Complete, Yes);
    jumps.0.clock = ServerClock::Jumps;
    jumps.is_clean();
}

#[test]
fn deadlines_are_exact() {
    let until = |second: u64| {
        let mut builder = of_one_key(1, &["a", "b"]);
        let a = builder.lease(10, "a", 0);
        builder.settle(200, a, How::Complete, Yes);
        let b = builder.lease(second, "b", 1);
        builder.settle(second + 5, b, How::Complete, Yes);
        builder
    };
    until(109).is_caught("its limit is 1");
    until(110).is_clean();
    // Whoever extends in time keeps it.
    let mut extended = until(150);
    extended.settle(100, 0, How::Extend, Yes).0.settles[2].deadline_ms = Some(CLOCK + 151);
    extended.is_caught("its limit is 1");
    extended.0.settles[2].deadline_ms = Some(CLOCK + 150);
    extended.is_clean();
    // When one that is kept alive was given is not known.
    let mut kept = until(60);
    kept.0.leases[1].keep_alive = true;
    kept.is_caught("its limit is 1");
    kept.0.leases[1].span.began = ms(11);
    kept.is_clean();
}

#[test]
fn calls_at_the_same_time_are_ordered_by_the_clock_of_the_server() {
    let two = |given: u64| {
        let mut builder = of_one_key(1, &["a", "b"]);
        let a = builder.lease(10, "a", 0);
        builder.0.leases[a].span = span(10, 30);
        let b = builder.lease(20, "b", 1);
        builder.0.leases[b].span = span(10, 30);
        builder.0.leases[b].deadline_ms = CLOCK + given + 100;
        builder.settle(40, a, How::Complete, Yes).settle(40, b, How::Complete, Yes);
        builder
    };
    two(20).is_caught("its limit is 1");
    two(11).is_caught("its limit is 1");
    two(9).is_among("its limit is 1");
    // In one ms the first one may have ended before the second one was given; not in one call.
    two(10).is_clean();
    let mut one_call = two(10);
    one_call.0.leases[1].who = one_call.0.leases[0].who.clone();
    one_call.is_caught("its limit is 1");
    // The call that ends the first one begins before the answer for the second one.
    let mut meanwhile = two(20);
    meanwhile.0.settles[0].span = span(15, 41);
    meanwhile.is_clean();
}

#[test]
fn the_limit_is_the_one_of_that_time() {
    let limited = |sets: &[(u64, &str, u64, Outcome)]| {
        let mut builder = two(1, 20, How::Complete, Yes);
        for (at, key, limit, outcome) in sets {
            set(&mut builder, *at, key, *limit, *outcome);
        }
        builder
    };
    for sets in [
        &[(5, "", 2, Yes)][..],
        &[(5, "k", 2, Yes)],
        // Both at the same time, so either may be the last one; or without an answer, so at any later time.
        &[(5, "", 2, Yes), (5, "", 1, Yes)],
        &[(5, "", 2, Unknown), (8, "", 1, Yes)],
        // Beside the lease.
        &[(5, "", 2, Yes), (20, "", 1, Yes)],
        &[(20, "", 2, Yes)],
        // The key has a limit of its own, whatever that of the queue is.
        &[(5, "k", 2, Yes), (8, "", 1, Yes)],
    ] {
        limited(sets).is_clean();
    }
    for sets in [
        &[(5, "", 2, Yes), (8, "", 1, Yes)][..],
        &[(22, "", 2, Yes)],
        &[(5, "other", 2, Yes)],
        &[(5, "", 2, NotDone)],
        &[(5, "", 2, Yes), (8, "k", 1, Yes)],
        &[(5, "k", 2, Yes), (8, "k", 1, Yes)],
    ] {
        limited(sets).is_caught("its limit is 1");
    }
    // Without its own it has that of the queue again.
    let mut none = limited(&[(3, "", 2, Yes), (5, "k", 1, Yes), (8, "k", 0, Yes)]);
    none.0.limits[3].limit = None;
    none.is_clean();
    none.0.limits.pop();
    none.is_caught("its limit is 1");
    // A lower limit takes no lease away, but no other one is given until fewer are left.
    let lowered = |third: u64| {
        let mut builder = of_one_key(2, &["a", "b", "c"]);
        let (a, b) = (builder.lease(10, "a", 0), builder.lease(11, "b", 1));
        set(&mut builder, 13, "", 1, Yes);
        builder.settle(20, a, How::Complete, Yes).settle(40, b, How::Complete, Yes);
        let c = builder.lease(third, "c", 2);
        builder.settle(third + 5, c, How::Complete, Yes);
        builder
    };
    lowered(50).is_clean();
    lowered(30).is_caught("its limit is 1");
}

#[test]
fn what_is_held_for_ever_is_caught() {
    let mut builder = of_one_key(1, &["a"]);
    builder.left("a", 0);
    builder.0.left[0].seen.state = "held".into();
    builder.is_among("is held for ever");
}

#[test]
fn a_broken_order_is_caught() {
    let in_order = |ids: [(&str, u64); 2]| {
        let mut builder = of_one_key(1, &["a", "b"]);
        for (n, (id, data)) in ids.into_iter().enumerate() {
            let lease = builder.lease(10 + 10 * n as u64, id, data);
            builder.settle(15 + 10 * n as u64, lease, How::Complete, Yes);
        }
        builder
    };
    in_order([("a", 0), ("b", 1)]).is_clean();
    in_order([("b", 1), ("a", 0)]).is_caught("was overtaken by b");
    let mut other_priority = in_order([("b", 1), ("a", 0)]);
    other_priority.0.adds[1].options.priority = 3;
    other_priority.is_clean();
    let mut delayed = in_order([("b", 1), ("a", 0)]);
    delayed.0.adds[0].options.delayed = true;
    delayed.is_clean();
}

#[test]
fn the_order_is_that_of_the_clock_of_the_server() {
    let overlapping = |given: u64| {
        let mut builder = of_one_key(2, &["a", "b"]);
        let (b, a) = (builder.lease(10, "b", 1), builder.lease(20, "a", 0));
        builder.0.leases[b].span = span(10, 30);
        builder.0.leases[b].deadline_ms = CLOCK + given + 100;
        builder.settle(40, a, How::Complete, Yes).settle(40, b, How::Complete, Yes);
        builder
    };
    overlapping(19).is_caught("was overtaken by b");
    overlapping(20).is_clean();
    overlapping(21).is_clean();
    let mut kept = overlapping(19);
    kept.0.leases[1].keep_alive = true;
    kept.is_clean();
}

/// `k1` has the key and completes at 20 ms. `k2` waits, and is leased at this time. Items without a key are added and
/// leased all the time.
fn waits_until(leased: u64) -> HistoryBuilder {
    let mut builder = of_one_key(1, &["k1", "k2"]);
    let first = builder.lease(10, "k1", 0);
    builder.settle(20, first, How::Complete, Yes);
    for n in 0..30 {
        let (at, id) = (30 + 100 * n, format!("other {n}"));
        builder.add(at, &id, 10 + n, Yes);
        let lease = builder.lease(at + 5, &id, 10 + n);
        builder.settle(at + 10, lease, How::Complete, Yes);
    }
    let second = builder.lease(leased, "k2", 1);
    builder.settle(leased + 5, second, How::Complete, Yes);
    builder
}

#[test]
fn a_blocked_key_is_caught() {
    waits_until(900).is_clean();
    waits_until(1_500).is_caught("its key is free since");
    let mut never = waits_until(2_900);
    never.0.leases.pop();
    never.0.settles.pop();
    never.is_among("its key is free since");
    // Somebody may have it whom nobody knows; or it may wait for something else.
    let mut hidden = waits_until(1_500);
    hidden.0.asks.push(Ask { span: span(100, 101), most: 1 });
    hidden.is_clean();
    let mut rated = waits_until(1_500);
    let (span, outcome) = (span(0, 1), Unknown);
    rated.0.rates.push(RateSet { span, of_keys: true, per_second: 50, revision: None, outcome });
    rated.is_clean();
    let mut moved = waits_until(1_500);
    moved.0.adds[1].options.priority = 1;
    moved.is_clean();
    let mut expired = waits_until(1_500);
    expired.0.settles[0].outcome = Unknown;
    expired.is_clean();
}
