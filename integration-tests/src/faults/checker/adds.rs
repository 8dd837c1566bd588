//! No item is lost, doubled, changed or invented.

use super::history_index::HistoryIndex;
use super::violation::{Violation, violation};
use crate::faults::history::{Add, Id, Outcome};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    delivered(index, found);
    for add in &index.history.adds {
        kept(index, add, found);
    }
    for adds in index.by_id.values() {
        for add in adds {
            match add.outcome {
                Outcome::Yes => new(index, add, adds, found),
                Outcome::No => refused(index, add, adds, found),
                _ => {}
            }
        }
    }
    totals(index, found);
}

/// Every leased or remaining item was added, with the same data to the byte.
fn delivered(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    let leases = index.history.leases.iter().map(|lease| (&lease.id, lease.data, lease.span.ended));
    let left = index.history.left.iter().map(|left| (&left.id, left.data, None));
    for (id, data, ended) in leases.chain(left) {
        let Some(add) = index.adds.get(&data) else {
            found.push(violation(id, "has data that nobody has added"));
            continue;
        };
        if add.id != *id {
            found.push(violation(id, format!("has the data of {}", add.id)));
        }
        if matches!(add.outcome, Outcome::No | Outcome::NotDone) {
            found.push(violation(id, format!("is there, but its add was {:?}", add.outcome)));
        }
        if ended.is_some_and(|ended| ended < add.span.began) {
            found.push(violation(id, "was there before its add"));
        }
    }
    for (data, generations) in &index.of_add {
        if generations.len() > 1
            && let Some(add) = index.adds.get(data)
        {
            let what = format!("one add made several generations: {generations:?}");
            found.push(violation(&add.id, what));
        }
    }
    for ((number, id), leases) in &index.generations {
        let data = index.history.leases[leases[0]].data;
        if leases.iter().any(|i| index.history.leases[*i].data != data) {
            // Never excused: no number is used twice for an id, whatever was lost.
            let what =
                format!("generation {number} of {id} has two lives, or its data has changed");
            found.push(Violation { id: None, what });
        }
    }
    let numbers = || index.generations.keys();
    for ((number, one), (same, other)) in numbers().zip(numbers().skip(1)) {
        if number == same {
            let what = format!("{one} and {other} both have the number {number}");
            // The items of one of two masters are lost, so both belong to that window. In all other
            // cases this is never excused.
            let ids = [one, other].map(|id| index.history.two_masters.then(|| Id::from(*id)));
            found.extend(ids.map(|id| Violation { id, what: what.clone() }));
        }
    }
}

/// An item whose add was acknowledged, or that was leased, is completed or still there.
fn kept(index: &HistoryIndex<'_>, add: &Add, found: &mut Vec<Violation>) {
    let was_there = add.outcome == Outcome::Yes || index.of_add.contains_key(&add.data);
    let completed = index.completes_of(add.data).any(|settle| settle.outcome.may_be_done());
    let left = index.history.left.iter().any(|left| left.data == add.data);
    if was_there && !completed && !left {
        found.push(violation(&add.id, "is lost: nobody completed it, and it is gone"));
    }
}

/// An add is true only if no item of this id exists: an earlier one must be gone by then.
fn new(index: &HistoryIndex<'_>, add: &Add, others: &[&Add], found: &mut Vec<Violation>) {
    for before in others.iter().filter(|other| other.outcome == Outcome::Yes) {
        let gone = index.completes_of(before.data).any(|settle| {
            settle.outcome.may_be_done()
                && add.span.ended.is_none_or(|ended| settle.span.began <= ended)
        });
        if before.span.before(add.span) && !gone {
            found.push(violation(&add.id, "was added again while it was there"));
        }
    }
}

/// An add is false only if another item of this id exists.
fn refused(index: &HistoryIndex<'_>, add: &Add, others: &[&Add], found: &mut Vec<Violation>) {
    let there = others.iter().any(|other| {
        let added = other.data != add.data
            && other.outcome.may_be_done()
            && add.span.ended.is_none_or(|ended| other.span.began <= ended);
        let gone = index
            .completes_of(other.data)
            .any(|settle| settle.outcome == Outcome::Yes && settle.span.before(add.span));
        added && !gone
    });
    if !there {
        found.push(violation(&add.id, "was refused, but no other of its id was there"));
    }
}

/// The counts of the queue agree with the answers, except for unknown outcomes.
fn totals(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    let Some(totals) = index.history.totals else { return };
    let count = |outcomes: &mut dyn Iterator<Item = Outcome>| {
        outcomes.fold((0, 0), |(yes, unknown), outcome| match outcome {
            Outcome::Yes => (yes + 1, unknown),
            Outcome::Unknown => (yes, unknown + 1),
            _ => (yes, unknown),
        })
    };
    let settles = &index.history.settles;
    let counted = [
        ("added", totals.added, count(&mut index.history.adds.iter().map(|add| add.outcome))),
        (
            "completed",
            totals.completed,
            count(&mut settles.iter().filter(|s| s.how.completes()).map(|s| s.outcome)),
        ),
        (
            "failed",
            totals.failed,
            count(
                &mut settles
                    .iter()
                    .filter(|s| s.how == crate::faults::history::How::Fail)
                    .map(|s| s.outcome),
            ),
        ),
        ("leased", totals.leased, {
            let asks: u64 = index.history.asks.iter().map(|ask| ask.most).sum();
            // A call whose leases had already expired asks again, any number of times.
            (index.history.leases.len() as u64, asks + totals.expired)
        }),
    ];
    let mut wrong = |what: String| found.push(Violation { id: None, what });
    for (what, total, (yes, unknown)) in counted {
        if total < yes || total > yes + unknown {
            wrong(format!("{total} {what} by its count, but {yes} to {} told", yes + unknown));
        }
    }
    let left = index.history.left.len() as u64;
    if totals.added != totals.completed + left {
        let (added, completed) = (totals.added, totals.completed);
        wrong(format!("{added} added are not {completed} completed and {left} left"));
    }
}
