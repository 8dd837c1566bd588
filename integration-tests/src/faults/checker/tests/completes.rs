//! At most one `complete` of a generation returns true. See [`super`] for how to read the histories.

use super::whole;
use crate::faults::checker::history_builder::{CLOCK, HistoryBuilder, span};
use crate::faults::history::Outcome::{No, Unknown, Yes};
use crate::faults::history::{How, ServerClock};

#[test]
fn two_trues_are_caught() {
    let mut builder = whole();
    let late = builder.lease(10, "a", 1);
    builder.0.leases[0].span = span(10, 11);
    builder.settle(15, 0, How::Release, Yes);
    builder.0.leases[late].span = span(17, 18);
    builder.0.leases[late].deadline_ms = CLOCK + 117;
    builder.settle(18, late, How::Complete, No).is_caught("told false");
    builder.0.settles[2].span = span(22, 23);
    builder.is_clean();
    builder.0.settles[2].outcome = Yes;
    builder.is_caught("both completed it");
}

#[test]
fn a_lease_after_the_true_is_caught() {
    let mut builder = whole();
    builder.settle(15, 0, How::Release, Yes);
    // The call began before the complete. By the server's clock, its lease was given after it.
    let lease = builder.lease(16, "a", 1);
    builder.0.leases[lease].span = span(16, 200);
    builder.is_clean();
    builder.0.leases[lease].deadline_ms = CLOCK + 250;
    builder.is_caught("after worker 0 completed it");
    builder.0.clock = ServerClock::Jumps;
    builder.is_clean();
    builder.0.leases[lease].span = span(30, 200);
    builder.is_caught("after worker 0 completed it");
}

#[test]
fn what_is_completed_is_gone() {
    let mut builder = whole();
    builder.left("a", 1).is_caught("still there");
    let mut builder = whole();
    builder.settle(30, 0, How::Extend, Yes).is_caught("what was completed");
    let mut builder = whole();
    builder.settle(30, 0, How::Extend, No).settle(30, 0, How::Complete, No).is_clean();
}

#[test]
fn a_false_needs_a_true() {
    let mut builder = HistoryBuilder::new();
    let lease = builder.add(0, "a", 1, Yes).lease(10, "a", 1);
    builder.settle(20, lease, How::Complete, No).settle(30, lease, How::Complete, Yes);
    builder.is_caught("told false");
    builder.0.settles[1].outcome = Unknown;
    builder.is_caught("told false");
    builder.0.settles[1].span = span(10, 40);
    builder.is_clean();
}
