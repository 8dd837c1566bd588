//! Each test plants one violation in a history. The checker must report it and nothing else.
//!
//! How to read the histories (see [`HistoryBuilder`]):
//!
//! | notation | meaning |
//! |---|---|
//! | `add(at, id, data, outcome)` | the producer adds `id`; `data` is the digest of its data, unique to each add |
//! | `lease(at, id, data)` | a new worker gets attempt 1 of generation `data`, for 100 ms; returns the index of the lease |
//! | `again(at, id, data, expiries)` | the same after so many expiries: attempt 1 + `expiries` |
//! | `settle(at, lease, how, outcome)` | the worker of the lease with this index uses its handle |
//! | `left(id, data)` | the item is dead at the end of the run |
//! | `at` | when the call begins, in ms of the run; each call lasts 1 ms |
//! | `CLOCK` | the server's time at 0 ms, so a deadline is `CLOCK + ms` |
//! | `Yes`, `No` | true, or done; false, or the lease was lost |
//! | `NotDone`, `Unknown` | an error: nothing was executed; the outcome is open |
//! | `builder.0.…` | changes what was recorded, to plant a violation |
//! | `is_clean()` | the checker finds nothing |
//! | `is_caught(text)` | all violations contain `text`, and there is at least one |
//! | `is_among(text)` | one violation contains `text`; others may follow from it |

use super::super::history::{Ask, How, Outcome, ServerClock, Span, Totals};
use super::check;
use super::history_builder::{CLOCK, HistoryBuilder, ms, span};
use Outcome::{No, NotDone, Unknown, Yes};

/// One item, `a`: added at 0 ms, leased at 10 ms, completed at 20 ms.
fn whole() -> HistoryBuilder {
    let mut builder = HistoryBuilder::new();
    let lease = builder.add(0, "a", 1, Yes).lease(10, "a", 1);
    builder.settle(20, lease, How::Complete, Yes);
    builder
}

#[test]
fn a_whole_life_is_clean() {
    whole().is_clean();
    HistoryBuilder::new().is_clean();
}

#[test]
fn what_is_unknown_may_have_happened_or_not() {
    let mut builder = HistoryBuilder::new();
    builder.add(0, "never", 1, Unknown).add(0, "not", 2, NotDone).add(0, "it was", 3, Unknown);
    let lease = builder.lease(10, "it was", 3);
    builder.settle(20, lease, How::Complete, Unknown).is_clean();
}

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
    builder.settle(40, lease, How::Complete, Unknown).is_caught("several generations");
    builder.0.settles[1].outcome = Yes;
    builder.is_among("completed twice");
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

#[test]
fn overlapping_leases_are_caught() {
    let mut builder = whole();
    builder.0.settles[0].span = span(300, 301);
    let second = builder.again(60, "a", 1, 1);
    builder.is_caught("at the same time");
    builder.0.leases[second].span = span(60, 120);
    builder.0.leases[second].deadline_ms = CLOCK + 110 + 100;
    builder.is_clean();
    // One millisecond too early by the server's clock.
    builder.0.leases[second].deadline_ms -= 1;
    builder.is_caught("at the same time");
    builder.0.set_back.push(ms(70));
    builder.is_clean();
}

#[test]
fn an_extended_lease_ends_later() {
    let mut builder = whole();
    builder.0.settles[0].span = span(400, 401);
    let second = builder.again(120, "a", 1, 1);
    builder.settle(50, 0, How::Extend, Yes).is_clean();
    for how in [How::Extend, How::Look] {
        builder.0.settles[1].how = how;
        builder.0.settles[1].deadline_ms = Some(CLOCK + 150);
        builder.is_caught("at the same time");
    }
    builder.0.leases[second].span = span(150, 160);
    builder.0.leases[second].deadline_ms = CLOCK + 250;
    builder.is_clean();
}

#[test]
fn a_lease_that_was_given_back_may_be_given_again() {
    for (how, failures) in [(How::Release, 0), (How::Fail, 1)] {
        for outcome in [Yes, Unknown] {
            let mut builder = whole();
            builder.0.settles[0].span = span(50, 51);
            let second = builder.lease(40, "a", 1);
            builder.0.leases[second].attempt += failures;
            builder.0.leases[second].failures += failures;
            builder.settle(30, 0, how, outcome).is_clean();
            builder.0.settles[1].span = span(45, 46);
            builder.is_among("at the same time");
        }
    }
    let mut builder = whole();
    builder.0.settles[0].span = span(50, 51);
    builder.lease(40, "a", 1);
    builder.settle(30, 0, How::Release, No);
    builder.is_among("at the same time");
}

#[test]
fn stale_handles_that_act_are_caught() {
    for how in [How::Extend, How::Release, How::Fail] {
        let mut builder = whole();
        builder.0.settles[0].span = span(300, 301);
        builder.again(120, "a", 1, 1);
        builder.settle(130, 0, how, No).is_clean();
        builder.0.settles[1].outcome = Yes;
        builder.is_among("after worker 1 was given the next");
    }
    let mut builder = whole();
    builder.settle(12, 0, How::Release, Yes).settle(15, 0, How::Extend, Yes);
    builder.is_caught("held all the same");
}

#[test]
fn a_lease_lost_before_its_deadline_is_caught() {
    let mut builder = whole();
    builder.settle(12, 0, How::Extend, No).is_caught("before the deadline");
    builder.0.clock = ServerClock::Jumps;
    builder.is_clean();
    let mut builder = whole();
    builder.settle(25, 0, How::Extend, No).is_clean();
    builder.0.settles[0].span = span(200, 201);
    builder.0.settles[1].span = span(115, 116);
    builder.is_clean();
}

#[test]
fn attempts_go_up_by_one() {
    let mut builder = whole();
    builder.0.settles[0].span = span(400, 401);
    let second = builder.again(120, "a", 1, 1);
    builder.is_clean();
    builder.0.leases[second].attempt = 3;
    builder.0.leases[second].expiries = 2;
    builder.is_among("attempt 3 comes after");
    let totals = Totals { added: 1, leased: 2, completed: 1, failed: 0, expired: 0 };
    builder.0.totals = Some(totals);
    builder.is_among("attempts too many");
    // A killed worker may have held the lease in between.
    builder.0.asks.push(Ask { span: Span { began: ms(50), ended: None }, most: 1 });
    builder.is_among("attempts too many");
    builder.0.totals = Some(Totals { leased: 3, ..totals });
    builder.is_clean();
    builder.0.leases[second].expiries = 1;
    builder.is_caught("is not 1 and what is counted");
}

#[test]
fn an_attempt_counted_twice_or_not_at_all_is_caught() {
    let mut builder = whole();
    builder.0.settles[0].span = span(400, 401);
    builder.lease(120, "a", 1);
    builder.is_caught("counted twice");
    let mut builder = whole();
    builder.0.settles[0].span = span(400, 401);
    builder.again(30, "a", 1, 1);
    builder.settle(20, 0, How::Release, Yes);
    builder.is_among("attempt 2 comes after");
}

#[test]
fn totals_that_do_not_agree_are_caught() {
    let right = Totals { added: 1, leased: 1, completed: 1, failed: 0, expired: 0 };
    let mut builder = whole();
    builder.0.totals = Some(right);
    builder.is_clean();
    for (wrong, says) in [
        (Totals { added: 2, ..right }, "added"),
        (Totals { leased: 0, ..right }, "leased"),
        (Totals { leased: 3, expired: 1, ..right }, "leased"),
        (Totals { completed: 0, ..right }, "completed"),
        (Totals { failed: 1, ..right }, "failed"),
    ] {
        builder.0.totals = Some(wrong);
        builder.is_caught(says);
    }
    builder.0.totals = Some(Totals { leased: 2, expired: 1, ..right });
    builder.is_clean();
}

#[test]
fn only_the_last_window_is_excused() {
    let mut builder = whole();
    builder.add(30, "b", 2, Yes).add(90, "c", 3, Yes).is_caught("is lost");
    builder.0.windows.push((ms(80), ms(100)));
    let report = check(&builder.0);
    assert_eq!(report.excused, 1);
    let lost: Vec<_> = report.violations.iter().filter_map(|found| found.id.as_deref()).collect();
    assert_eq!(lost, ["b"]);
    // The server lost a complete, so the item came back and was completed again.
    let mut builder = whole();
    let second = builder.again(120, "a", 1, 1);
    builder.settle(130, second, How::Complete, Yes);
    assert_eq!(check(&builder.0).violations.len(), 2);
    builder.0.windows.push((ms(19), ms(25)));
    builder.is_clean();
}

#[test]
fn the_history_of_an_item_is_told_in_order() {
    let mut builder = whole();
    builder.add(5, "b", 2, Yes).left("a", 1);
    let told = builder.0.of("a");
    let lines: Vec<_> = told.lines().collect();
    assert!(lines[0].contains("producer adds data 0000000000000001: Yes"), "{told}");
    assert!(lines[1].contains("worker 0 gets lease 0 of generation 1, attempt 1"), "{told}");
    assert!(lines[2].contains("worker 0 Complete lease 0: Yes"), "{told}");
    assert!(lines[3].contains("in the end dead") && lines.len() == 4, "{told}");
}
