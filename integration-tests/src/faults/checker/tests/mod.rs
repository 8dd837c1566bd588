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
//! | `add_with(…, options)` | the same with options of the item |
//! | `change(at, id, what, outcome)` | an operator changes the item by its id |
//! | `look(at, id, data, state)` | an operator sees the item; returns the index of the look |
//! | `change_seen(at, look, what, outcome)` | an operator changes the generation that was seen |
//! | `left(id, data)` | the item is dead at the end of the run |
//! | `at` | when the call begins, in ms of the run; each call lasts 1 ms |
//! | `CLOCK` | the server's time at 0 ms, so a deadline is `CLOCK + ms` |
//! | `Yes`, `No` | true, or done; false, or the lease was lost |
//! | `NotDone`, `Unknown` | an error: nothing was executed; the outcome is open |
//! | `builder.0.…` | changes what was recorded, to plant a violation |
//! | `is_clean()` | the checker finds nothing |
//! | `is_caught(text)` | all violations contain `text`, and there is at least one |
//! | `is_clean_except(text)` | all violations contain `text`, if there are any |
//! | `is_among(text)` | one violation contains `text`; others may follow from it |

mod adds;
mod changes;
mod completes;
mod keys;
mod leases;
mod names;
mod rates;
mod results;
mod totals;

use super::check;
use super::history_builder::{HistoryBuilder, ms};
use crate::faults::history::How;
use crate::faults::history::Outcome::{NotDone, Unknown, Yes};

/// One item, `a`: added at 0 ms, leased at 10 ms, completed at 20 ms.
fn whole() -> HistoryBuilder {
    let mut builder = HistoryBuilder::new();
    let lease = builder.add(0, "a", 1, Yes).lease(10, "a", 1);
    builder.settle(20, lease, How::Complete, Yes);
    builder
}

/// One item, `a`: added at 0 ms, leased at 10 ms.
fn leased() -> HistoryBuilder {
    let mut builder = HistoryBuilder::new();
    builder.add(0, "a", 1, Yes).lease(10, "a", 1);
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
