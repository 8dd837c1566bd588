//! Keys. See [`super`] for how to read the histories.

use crate::faults::checker::history_builder::HistoryBuilder;
use crate::faults::history::Outcome::{No, Unknown, Yes};
use crate::faults::history::{How, Options, ServerClock};

/// Items with these names, of one key with this limit, added one after the other.
fn of_one_key(limit: u64, ids: &[&str]) -> HistoryBuilder {
    let mut builder = HistoryBuilder::new();
    builder.0.key_limit = limit;
    for (n, id) in ids.iter().enumerate() {
        let options = Options { limit_key: Some("k".into()), ..Options::default() };
        builder.add_with(2 * n as u64, id, n as u64, Yes, options);
    }
    builder
}

/// Two leases, of which the second is given at this time, and the first is settled at 60 ms.
fn two(
    limit: u64,
    second: u64,
    how: How,
    outcome: crate::faults::history::Outcome,
) -> HistoryBuilder {
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
