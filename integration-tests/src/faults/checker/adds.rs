//! No item is lost, doubled, changed or invented.

use super::history_index::HistoryIndex;
use super::life::Life;
use super::violation::{Violation, violation};
use crate::faults::history::{Id, Outcome, Span, What};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    delivered(index, found);
    for life in index.lives.values() {
        kept(index, life, found);
        one_generation(index, life, found);
    }
    numbers(index, found);
}

/// Every leased or remaining item was added, with the same data to the byte, or that of a revision.
fn delivered(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    let leases = index.history.leases.iter().map(|lease| (&lease.id, lease.data, lease.span.ended));
    let left = index.history.left.iter().map(|left| (&left.id, left.seen.data, None));
    for (id, data, ended) in leases.chain(left) {
        let revision = index.revisions.get(&data).map(|(change, _)| (change.span, change.outcome));
        let add = index.origin(data).and_then(|origin| index.adds.get(&origin));
        let Some(add) = add else {
            found.push(violation(id, "has data that nobody has added"));
            continue;
        };
        let (span, outcome): (Span, Outcome) = revision.unwrap_or((add.span, add.outcome));
        if add.id != *id {
            found.push(violation(id, format!("has the data of {}", add.id)));
        }
        if matches!(outcome, Outcome::No | Outcome::NotDone) {
            let by = if revision.is_some() { "revision" } else { "add" };
            found.push(violation(id, format!("is there, but its {by} was {outcome:?}")));
        }
        if ended.is_some_and(|ended| ended < span.began) {
            found.push(violation(id, "was there before its add"));
        }
    }
}

/// One add makes one item. Only changes, and a sweep that finds it expired, give it another number.
fn one_generation(index: &HistoryIndex<'_>, life: &Life<'_>, found: &mut Vec<Violation>) {
    let generations = index.generations_of(life);
    let renewals = life
        .possible()
        .filter(|change| matches!(change.what, What::Bury | What::Revise { .. }))
        .count();
    let swept = usize::from(life.add.options.expires_in_ms.is_some());
    if generations.len() > 1 + renewals + swept {
        let what = format!("one add made several generations: {generations:?}");
        found.push(violation(life.id(), what));
    }
}

/// Numbers name one generation of one item.
fn numbers(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    for ((number, id), leases) in &index.generations {
        let data = index.lease(leases[0]).data;
        if leases.iter().any(|i| index.lease(*i).data != data) {
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

/// An item whose add was acknowledged, or that was leased, has ended or is still there.
fn kept(index: &HistoryIndex<'_>, life: &Life<'_>, found: &mut Vec<Violation>) {
    let completed = !life.completers().is_empty();
    let taken = life.may_be(|what| matches!(what, What::Remove | What::Cancel));
    let replaced = !life.replaced_by.is_empty();
    let left = index.left_of(life).next().is_some();
    if life.was_there() && !completed && !taken && !replaced && !left {
        found.push(violation(life.id(), "is lost: nobody completed it, and it is gone"));
    }
}
