//! Retained items and their results. See [`super`] for how to read the histories.

use super::{leased, whole};
use crate::faults::checker::history_builder::{CLOCK, HistoryBuilder, ms, span};
use crate::faults::history::Outcome::{No, Unknown, Yes};
use crate::faults::history::{How, Options, Span, What};

/// `a` is retained for 1 s after its completion at 20 ms, with the result 7.
fn retained() -> HistoryBuilder {
    let mut builder = leased();
    builder.0.adds[0].options = Options { retain_ms: 1_000, ..Options::default() };
    builder.complete(20, 0, 7).is_clean();
    builder
}

/// The same, seen at 100 ms.
fn seen() -> HistoryBuilder {
    let mut builder = retained();
    let look = builder.look(100, "a", 1, "completed");
    builder.shows(look, Some(7)).is_clean();
    builder
}

#[test]
fn a_changed_result_is_caught() {
    let mut builder = seen();
    builder.shows(0, Some(8)).is_caught("a result that its completer did not give");
    builder.shows(0, None).is_caught("a result that its completer did not give");
    // Nobody knows which of two was first, but it stays.
    let mut builder = seen();
    builder.0.settles[0].outcome = Unknown;
    builder.complete(22, 0, 8);
    builder.0.settles[1].outcome = Unknown;
    builder.is_clean();
    let again = builder.look(110, "a", 1, "completed");
    builder.shows(again, Some(7)).is_clean();
    builder.shows(again, Some(8)).is_caught("another result than before");
}

#[test]
fn what_is_retained_is_seen_until_its_time() {
    let mut builder = seen();
    builder.0.looks[0].seen = None;
    builder.is_caught("did not see it");
    builder.0.looks[0].span = span(990, 991);
    builder.is_clean(); // its time is over, perhaps
    builder.0.looks[0].span = span(100, 101);
    builder.change(50, "a", What::Remove, Unknown).is_clean();
    let mut builder = seen();
    builder.0.looks[0].span = span(1_100, 1_101);
    builder.is_caught("after the time");
    builder.0.settles[0].outcome = Unknown;
    builder.is_clean();
    builder.retained_until(0, CLOCK + 1_020).is_caught("after the time");
    let mut builder = seen();
    builder.0.settles[0].kept.retain_ms = Some(20);
    builder.is_caught("after the time");
    builder.0.settles[0].kept.retain_ms = Some(0);
    builder.is_among("nobody asked for that");
}

#[test]
fn what_is_completed_is_shown_as_that() {
    let mut builder = whole();
    builder.look(10, "a", 1, "leased");
    builder.is_clean();
    builder.look(30, "a", 1, "ready");
    builder.is_caught("has completed it");
    let mut builder = leased();
    builder.left("a", 1).look(30, "a", 1, "completed");
    builder.is_caught("nobody has completed it");
}

#[test]
fn what_was_never_added_is_not_seen() {
    let mut builder = whole();
    builder.look(10, "a", 5, "ready");
    builder.is_among("data that nobody has given it");
}

#[test]
fn a_retained_item_that_is_lost_is_caught() {
    let mut builder = retained();
    builder.0.left_at = Some(Span { began: ms(500), ended: Some(ms(510)) });
    builder.is_caught("is lost");
    builder.left("a", 1);
    builder.0.left[0].seen.state = "completed".into();
    builder.0.left[0].seen.result = Some(7);
    builder.is_clean();
    builder.0.left[0].seen.result = Some(6);
    builder.is_caught("did not give");
}

#[test]
fn a_retained_id_that_is_added_again_is_caught() {
    let mut builder = retained();
    builder.add(40, "a", 2, Yes);
    let lease = builder.lease(50, "a", 2);
    builder.settle(60, lease, How::Complete, Yes).is_caught("was added again while it was there");
    builder.0.adds[1].options.replace = true;
    builder.is_clean();
    builder.0.adds[1].options.replace = false;
    builder.0.settles[0].kept.retain_ms = Some(50); // as exactly as clocks agree
    builder.is_clean();
    let mut builder = retained();
    builder.add(40, "a", 2, No).is_clean();
    builder.0.adds[1].span = span(1_200, 1_201);
    builder.is_caught("was refused");
}

#[test]
fn a_retained_item_that_is_leased_again_is_caught() {
    let mut builder = retained();
    builder.again(200, "a", 1, 1);
    builder.is_caught("after worker 0 completed it");
    // In another generation, too.
    builder.0.leases[1].generation = 5;
    builder.is_among("after worker 0 completed it");
    let mut builder = retained();
    builder.change(40, "a", What::Requeue, No).is_clean();
    builder.0.changes[0].outcome = Yes;
    builder.is_caught("requeues it after it was completed");
}

#[test]
fn an_expired_item_that_is_leased_is_caught() {
    let mut builder = leased();
    builder.0.adds[0].options.expires_in_ms = Some(100);
    builder.left("a", 1).is_clean();
    builder.0.leases[0].span = span(160, 161);
    builder.0.leases[0].deadline_ms = CLOCK + 260;
    builder.is_caught("after it expired");
    // An attempt has counted before, or somebody has requeued it.
    builder.0.leases[0].attempt = 2;
    builder.0.leases[0].failures = 1;
    builder.is_clean_except("attempt");
    builder.0.leases[0].attempt = 1;
    builder.0.leases[0].failures = 0;
    builder.change(155, "a", What::Requeue, Unknown).is_clean();
}
