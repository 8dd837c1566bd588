//! Changes of items by their ids. See [`super`] for how to read the histories.

use super::{leased, whole};
use crate::faults::checker::history_builder::{HistoryBuilder, span};
use crate::faults::history::Outcome::{No, Unknown, Yes};
use crate::faults::history::{How, Options, What};

const REVISED: What = What::Revise { data: Some(9), limits: false };

/// `a`, which nobody leases.
fn waiting() -> HistoryBuilder {
    let mut builder = HistoryBuilder::new();
    builder.add(0, "a", 1, Yes);
    builder
}

#[test]
fn what_is_cancelled_or_removed_is_not_leased_again() {
    for what in [What::Cancel, What::Remove] {
        for outcome in [Yes, Unknown] {
            waiting().change(10, "a", what, outcome).is_clean();
        }
        let mut builder = waiting();
        builder.change(10, "a", what, Yes).lease(20, "a", 1);
        builder.is_caught("was given to worker 0 after operator had");
        builder.0.changes[0].outcome = Unknown;
        builder.is_clean();
        builder.0.changes[0].outcome = Yes;
        builder.0.changes[0].span = span(10, 25);
        builder.is_clean();
        let mut builder = waiting();
        builder.change(10, "a", what, Yes).left("a", 1).is_caught("is still dead");
        builder.0.left[0].seen.state = "cancelled".into();
        builder.is_clean();
    }
}

#[test]
fn a_cancelled_lease_goes_on_and_its_completion_is_true() {
    let mut builder = leased();
    builder.change(15, "a", What::Cancel, Yes).settle(20, 0, How::Complete, Yes).is_clean();
    builder.0.settles[0].outcome = No;
    builder.is_caught("told false");
    // Its lease may have expired before.
    builder.0.settles[0].span = span(200, 201);
    builder.is_clean();
    let mut builder = leased();
    builder.change(15, "a", What::Cancel, Yes).settle(20, 0, How::Extend, No);
    builder.is_caught("before the deadline");
}

#[test]
fn a_cancelled_item_does_not_come_back() {
    let mut builder = leased();
    builder.change(15, "a", What::Cancel, Yes).settle(20, 0, How::Fail, Yes);
    builder.0.settles[0].state = Some("cancelled".into());
    builder.is_clean();
    builder.0.settles[0].state = Some("ready".into());
    builder.is_caught("came back");
    builder.0.settles[0].span = span(10, 18);
    builder.is_clean();
    let mut builder = leased();
    builder.change(15, "a", What::Cancel, Yes).settle(20, 0, How::Release, Yes);
    builder.is_clean();
    builder.lease(30, "a", 1);
    builder.is_caught("was given to worker 1 after operator had cancelled it");
}

#[test]
fn what_is_there_can_be_cancelled_and_removed() {
    for what in [What::Cancel, What::Remove] {
        let mut builder = whole();
        builder.change(15, "a", what, No).is_caught("false, but it was there");
        builder.0.changes[0].span = span(30, 31);
        builder.is_clean();
    }
    // A dead item can be removed only.
    let mut builder = waiting();
    builder.change(10, "a", What::Bury, Yes).change(20, "a", What::Cancel, No).left("a", 1);
    builder.is_clean();
    builder.change(20, "a", What::Remove, No).is_caught("false, but it was there");
}

#[test]
fn what_is_removed_is_gone() {
    let mut builder = leased();
    builder.change(15, "a", What::Remove, Yes).settle(20, 0, How::Complete, No);
    builder.settle(30, 0, How::Extend, No).is_clean();
    builder.0.settles[1].outcome = Yes;
    builder.is_caught("could Extend what was removed");
    builder.0.settles[0].outcome = Yes;
    builder.is_among("could Complete what was removed");
}

#[test]
fn what_is_dead_is_not_leased() {
    let mut builder = waiting();
    builder.change(10, "a", What::Bury, Yes).left("a", 1).is_clean();
    builder.lease(20, "a", 1);
    builder.is_caught("when dead");
    builder.change(15, "a", What::Requeue, Unknown).is_clean();
    builder.0.changes[1].outcome = No;
    builder.is_caught("when dead");
    let mut builder = leased();
    builder.settle(20, 0, How::FailDead, Yes).left("a", 1);
    builder.0.settles[0].state = Some("dead".into());
    builder.is_clean();
    let lease = builder.lease(30, "a", 1);
    builder.0.leases[lease].attempt = 2;
    builder.0.leases[lease].failures = 1;
    builder.is_caught("when dead");
}

#[test]
fn a_revised_item_has_the_new_data_only() {
    let mut builder = waiting();
    builder.change(10, "a", REVISED, Yes);
    let lease = builder.lease(20, "a", 9);
    builder.settle(30, lease, How::Complete, Yes).is_clean();
    builder.0.leases[lease].data = 1;
    builder.is_caught("with data from before its revision");
    builder.0.changes[0].outcome = Unknown;
    builder.is_clean();
    builder.0.leases[lease].data = 9;
    builder.is_clean();
    builder.0.changes[0].outcome = No;
    builder.is_caught("its revision was No");
}

#[test]
fn a_leased_item_is_not_changed() {
    for what in [REVISED, What::Bury] {
        let mut builder = leased();
        builder.change(15, "a", what, No).settle(20, 0, How::Complete, Yes).is_clean();
        builder.0.changes[0].outcome = Yes;
        builder.is_among("although worker 0 had leased it");
        // After its release it is, and its former holder has lost it.
        let mut builder = leased();
        builder.settle(12, 0, How::Release, Yes).change(15, "a", what, Yes).left("a", 1);
        builder.settle(20, 0, How::Complete, No).is_clean();
        builder.0.settles[1].outcome = Yes;
        builder.is_among("could Complete an earlier generation");
    }
}

#[test]
fn only_what_was_seen_is_changed() {
    for (change, outcome) in [(What::Remove, Yes), (What::Bury, Yes), (REVISED, Yes)] {
        let mut builder = waiting();
        let look = builder.look(10, "a", 1, "ready");
        builder.change_seen(30, look, What::Bury, Yes).left("a", 1).is_clean();
        builder.change(20, "a", change, outcome).is_among("has not seen this generation");
        builder.0.changes[1].outcome = No;
        builder.is_clean_except("false, but it was there");
        builder.0.changes[1].outcome = Unknown;
        builder.is_clean();
    }
    // Another item with this id.
    let mut builder = whole();
    let look = builder.look(12, "a", 1, "leased");
    builder.add(30, "a", 2, Yes).left("a", 2).change_seen(40, look, What::Remove, No).is_clean();
    builder.0.changes[0].outcome = Yes;
    builder.is_among("has not seen this generation");
    // A retained item keeps its generation.
    let mut builder = whole();
    builder.0.adds[0].options = Options { retain_ms: 1_000, ..Options::default() };
    let look = builder.look(12, "a", 1, "leased");
    builder.change_seen(40, look, What::Remove, Yes).is_clean();
    builder.0.changes[0].what = What::Cancel;
    builder.is_among("has not seen this generation");
}
