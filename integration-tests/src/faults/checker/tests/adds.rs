//! No item is lost, doubled, changed or invented. See [`super`] for how to read the histories.

use super::whole;
use crate::faults::checker::history_builder::{HistoryBuilder, ms, span};
use crate::faults::history::How;
use crate::faults::history::Outcome::{No, NotDone, Unknown, Yes};

#[test]
fn a_lost_item_is_caught() {
    let mut builder = whole();
    builder.add(0, "b", 2, Yes).is_caught("is lost");
    builder.left("b", 2).is_clean();
    let mut builder = whole();
    builder.lease(15, "a", 1);
    let mut builder = HistoryBuilder::new();
    builder.add(0, "a", 1, Unknown);
    let lease = builder.lease(10, "a", 1);
    builder.settle(20, lease, How::Complete, NotDone).is_caught("is lost");
}

#[test]
fn what_nobody_added_is_caught() {
    let mut builder = whole();
    let lease = builder.lease(10, "a", 7);
    builder.settle(20, lease, How::Complete, Yes).is_caught("nobody has added");
    let mut builder = whole();
    builder.left("a", 7).is_caught("nobody has added");
}

#[test]
fn changed_data_is_caught() {
    let mut builder = whole();
    let lease = builder.again(120, "a", 1, 1);
    builder.0.leases[lease].data = 9;
    builder.is_among("has changed");
    let mut builder = whole();
    builder.add(0, "b", 2, Yes);
    let lease = builder.lease(10, "b", 2);
    builder.settle(20, lease, How::Complete, Yes);
    builder.0.leases[lease].id = "a".into();
    builder.is_caught("has the data of b");
}

#[test]
fn what_was_refused_and_is_there_is_caught() {
    for outcome in [No, NotDone] {
        let mut builder = whole();
        builder.add(2, "a", 2, outcome);
        let lease = builder.lease(30, "a", 2);
        builder.settle(40, lease, How::Complete, Yes).is_caught("is there, but its add was");
    }
    let mut builder = whole();
    builder.0.adds[0].span = span(12, 13);
    builder.is_caught("before its add");
}

#[test]
fn an_add_executed_twice_is_caught() {
    let mut builder = whole();
    let lease = builder.lease(30, "a", 1);
    builder.0.leases[lease].generation = 2;
    builder.settle(40, lease, How::Complete, Unknown).is_among("several generations");
    builder.0.settles[1].outcome = Yes;
    builder.is_among("both completed it");
}

/// After [`whole`], adds another item that gets the same number.
fn with_the_same_number(id: &str) -> HistoryBuilder {
    let mut builder = whole();
    builder.add(30, id, 2, Yes);
    let lease = builder.lease(40, id, 2);
    builder.settle(50, lease, How::Complete, Yes).is_clean();
    builder.0.leases[lease].generation = 1;
    builder
}

#[test]
fn two_lives_with_one_number_are_never_excused() {
    let mut builder = with_the_same_number("a");
    builder.0.windows.push((ms(0), ms(100)));
    builder.0.two_masters = true;
    builder.is_caught("two lives");
}

#[test]
fn a_number_used_twice_is_excused_only_if_two_masters_gave_it() {
    let mut builder = with_the_same_number("b");
    builder.is_caught("both have the number");
    builder.0.windows.push((ms(0), ms(100)));
    builder.is_caught("both have the number");
    builder.0.two_masters = true;
    builder.is_clean();
    builder.0.windows = vec![(ms(0), ms(25))];
    builder.is_caught("both have the number");
    builder.0.windows.clear();
    builder.is_caught("both have the number");
}

#[test]
fn an_add_is_false_only_if_there_is_another() {
    let mut builder = HistoryBuilder::new();
    builder.add(0, "a", 1, No).is_caught("was refused");
    let mut builder = whole();
    builder.add(15, "a", 2, No).is_clean();
    let mut builder = whole();
    builder.add(30, "a", 2, No).is_caught("was refused");
    // The first add may not have been executed.
    let mut builder = HistoryBuilder::new();
    builder.add(0, "a", 1, Unknown).add(5, "a", 2, No).is_clean();
}

#[test]
fn an_add_is_true_only_if_there_is_no_other() {
    let mut builder = whole();
    builder.add(30, "a", 2, Yes);
    let lease = builder.lease(40, "a", 2);
    builder.settle(50, lease, How::Complete, Yes).is_clean();
    builder.0.adds[1].span = span(15, 16);
    builder.is_caught("added again while it was there");
}
