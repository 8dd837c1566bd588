//! Ids and unique keys. See [`super`] for how to read the histories.

use super::{leased, whole};
use crate::faults::checker::history_builder::{CLOCK, HistoryBuilder, ms, span};
use crate::faults::history::Outcome::{No, Unknown, Yes};
use crate::faults::history::{How, Name, Options, Probe, Seen, What};

fn key() -> Options {
    Options { key: Some("k".into()), ..Options::default() }
}

/// `a` is added at 0 ms and completed at 20 ms, and `b` with the same key at 30 ms and 50 ms.
fn one_after_the_other() -> HistoryBuilder {
    let mut builder = whole();
    builder.0.adds[0].options = key();
    builder.add_with(30, "b", 2, Yes, key());
    let lease = builder.lease(40, "b", 2);
    builder.settle(50, lease, How::Complete, Yes).is_clean();
    builder
}

#[test]
fn two_items_with_one_key_at_once_are_caught() {
    let mut builder = one_after_the_other();
    builder.0.adds[1].span = span(15, 16);
    builder.is_caught("a and b both have it");
    // The completion may have been executed first.
    builder.0.adds[1].span = span(15, 22);
    builder.is_clean();
    // Neither add comes after the other, but both items are there afterwards.
    let mut builder = HistoryBuilder::new();
    builder.add_with(0, "a", 1, Yes, key()).add_with(0, "b", 2, Yes, key());
    builder.left("a", 1).left("b", 2).is_caught("a and b both have it at once");
    builder.0.windows.push((ms(0), ms(5)));
    builder.is_clean();
}

#[test]
fn the_key_of_a_retained_item_is_taken() {
    let mut builder = one_after_the_other();
    builder.0.adds[0].options.retain_ms = 100;
    builder.is_caught("a and b both have it");
    builder.0.settles[0].kept.retain_ms = Some(0);
    builder.is_clean();
    builder.0.settles[0].kept.retain_ms = Some(100);
    builder.change(25, "a", What::Remove, Unknown).is_clean();
}

#[test]
fn the_key_of_a_dead_item_is_free_until_it_is_requeued() {
    let mut builder = leased();
    builder.0.adds[0].options = key();
    builder.settle(20, 0, How::FailDead, Yes);
    builder.0.settles[0].state = Some("dead".into());
    builder.left("a", 1).add_with(30, "b", 2, Yes, key());
    builder.left("b", 2).is_clean();
    builder.0.left[1].seen.state = "ready".into();
    builder.change(40, "a", What::Requeue, No).is_clean();
    builder.0.changes[0].outcome = Yes;
    builder.is_among("a was alive");
    builder.0.changes[0].outcome = Unknown;
    let lease = builder.lease(50, "a", 1);
    builder.0.leases[lease].attempt = 1;
    builder.is_among("a was alive");
}

#[test]
fn an_add_is_refused_only_if_its_key_is_taken() {
    let mut builder = one_after_the_other();
    builder.add_with(60, "c", 3, No, key()).is_caught("in the way");
    builder.0.adds[2].span = span(45, 46);
    builder.is_clean();
    // `unique_for` reserves it since the add.
    builder.0.adds[2].span = span(200, 201);
    builder.is_caught("in the way");
    builder.0.adds[0].options.unique_for_ms = 300;
    builder.is_clean();
    builder.0.adds[0].options.unique_for_ms = 100;
    builder.is_caught("in the way");
    // A retained item keeps it.
    builder.0.adds[1].options.retain_ms = 200;
    builder.is_clean();
}

#[test]
fn an_item_is_replaced_unless_it_is_leased() {
    let replacing = || Options { replace: true, ..Options::default() };
    let mut builder = leased();
    builder.settle(30, 0, How::Release, Yes).add_with(50, "a", 2, Yes, replacing());
    let lease = builder.lease(60, "a", 2);
    builder.settle(70, lease, How::Complete, Yes).settle(80, 0, How::Complete, No).is_clean();
    // It is leased under its old generation.
    let old = builder.lease(62, "a", 1);
    builder.is_among("a was alive");
    builder.0.leases.remove(old);
    // Its holder had it.
    builder.0.settles[0].span = span(75, 76);
    builder.is_caught("was replaced while worker 0 had leased it");
    builder.0.adds[1].outcome = No;
    builder.0.leases.remove(lease);
    builder.0.settles.remove(1);
    builder.0.settles[1].outcome = Yes;
    builder.is_clean();
    // Nobody had it.
    builder.0.settles[0].span = span(30, 31);
    builder.is_caught("was refused");
}

#[test]
fn a_key_that_stays_taken_is_caught() {
    let mut builder = one_after_the_other();
    let name = Name::Key("k".into());
    builder.0.probes.push(Probe { span: span(100, 101), name, outcome: No });
    builder.is_caught("stays taken");
    builder.0.adds[1].options.unique_for_ms = 100;
    builder.is_clean();
    builder.0.adds[1].options.unique_for_ms = 10;
    builder.is_caught("stays taken");
    builder.0.settles[1].kept.retain_ms = Some(1_000);
    builder.left("b", 2);
    let key = Some("k".into());
    builder.0.left[0].seen = Seen { data: 2, state: "completed".into(), key, ..Seen::default() };
    builder.is_clean();
    builder.0.probes[0].outcome = Yes;
    builder.is_caught("could be added although");
    builder.0.left[0].seen.kept_until_ms = Some(CLOCK + 90);
    builder.is_clean();
}

#[test]
fn an_id_that_stays_taken_is_caught() {
    let mut builder = whole();
    let name = Name::Id("a".into());
    builder.0.probes.push(Probe { span: span(100, 101), name, outcome: No });
    builder.is_caught("stays taken");
    builder.0.probes[0].outcome = Yes;
    builder.is_clean();
}
