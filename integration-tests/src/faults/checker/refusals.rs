//! An add returns false only if something is in its way. At the end, nothing is in the way of an add but what is left.

use super::clock::CLOCK_MS;
use super::history_index::HistoryIndex;
use super::life::Life;
use super::times::Has;
use super::violation::{Violation, violation};
use crate::faults::history::{Add, Left, Name, Outcome, Span, Time, What};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    for add in index.history.adds.iter().filter(|add| add.outcome == Outcome::No) {
        if !is_explained(index, add) {
            let key =
                add.options.key.as_ref().map_or(String::new(), |key| format!(" or key {key}"));
            let what = format!("was refused, but no other of its id{key} was in the way");
            found.push(violation(&add.id, what));
        }
    }
    at_the_end(index, found);
}

fn is_explained(index: &HistoryIndex<'_>, add: &Add) -> bool {
    let others = |adds: Option<&Vec<&Add>>, has: Has| -> Vec<&Life<'_>> {
        let others = adds.into_iter().flatten().filter(|other| {
            other.data != add.data
                && other.outcome.may_be_done()
                && add.span.ended.is_none_or(|ended| other.span.began <= ended)
        });
        let lives = others.filter_map(|other| index.lives.get(&other.data));
        lives.filter(|life| !is_over(index, life, has, add.span)).collect()
    };
    let key = add.options.key.as_deref();
    let with_id = others(index.by_id.get(add.id.as_str()), Has::Id);
    let with_key = others(key.and_then(|key| index.by_key.get(key)), Has::Key);
    if key.is_some_and(|key| is_reserved(index, key, add.span, Some(add.data))) {
        return true;
    }
    // Of items with the same id in one call only the first can be added, even if it is refused for its key.
    let same_call = |other: &Add| other.span == add.span && other.who == add.who;
    if index.by_id[&*add.id].iter().any(|other| other.data != add.data && same_call(other)) {
        return true;
    }
    if !add.options.replace {
        return !with_id.is_empty() || !with_key.is_empty();
    }
    // What is leased is not replaced, nor are two at once, nor what is added by the same call.
    let two = with_id.iter().any(|a| with_key.iter().any(|b| a.add.data != b.add.data));
    let in_the_way = |life: &&Life<'_>| same_call(life.add) || may_be_leased(index, life, add.span);
    two || with_id.iter().chain(&with_key).any(in_the_way)
}

/// Whether it is certain that the life had lost this before the call.
fn is_over(index: &HistoryIndex<'_>, life: &Life<'_>, has: Has, call: Span) -> bool {
    let completed = life.trues().any(|done| {
        let gone = done.span.ended.and_then(|at| index.history.latest(at, life.retained_by(done)));
        gone.is_some_and(|gone| gone < call.began)
    });
    let changed = |what: What| {
        life.changes.iter().any(|change| {
            change.what == what
                && change.outcome == Outcome::Yes
                && index.target(change) == Some(life.add.data)
                && change.span.before(call)
        })
    };
    // A later item with its id shows that it is gone. One with its key may have come after its death.
    let successor = index.by_id[life.id()].iter().any(|other| {
        other.outcome == Outcome::Yes
            && life.add.span.before(other.span)
            && other.span.before(call)
            && other.data != life.add.data
    });
    let buried =
        has == Has::Key && changed(What::Bury) && !life.may_be(|what| what == What::Requeue);
    completed || changed(What::Remove) || successor || buried
}

/// Whether `unique_for` may reserve the key, for another item than this one.
fn is_reserved(index: &HistoryIndex<'_>, key: &str, call: Span, own: Option<u64>) -> bool {
    index.by_key.get(key).into_iter().flatten().any(|add| {
        let until = add.span.ended.filter(|_| add.outcome == Outcome::Yes);
        let until = until.and_then(|at| index.history.latest(at, add.options.unique_for_ms));
        Some(add.data) != own
            && add.options.unique_for_ms > 0
            && add.outcome.may_be_done()
            && until.is_none_or(|until| until >= call.began)
    })
}

/// A lease lasts until the item is reclaimed, which may be long after its deadline.
fn may_be_leased(index: &HistoryIndex<'_>, life: &Life<'_>, call: Span) -> bool {
    let began = |at: Time| call.ended.is_none_or(|ended| at <= ended);
    let received = life.leases.iter().any(|i| {
        let ended = index.settles[*i].iter().any(|settle| {
            let ends = settle.how.completes() || settle.how.gives_back();
            ends && settle.outcome == Outcome::Yes && settle.span.before(call)
        });
        began(index.history.given_at(index.lease(*i))) && !ended
    });
    // The history does not show leases that nobody received.
    received
        || index.hidden != Some(0) && index.history.asks.iter().any(|ask| began(ask.span.began))
}

/// What nothing of the queue has can be added again.
fn at_the_end(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    for probe in &index.history.probes {
        let left = index.history.left.iter().find(|left| match &probe.name {
            Name::Id(id) => left.id == *id,
            Name::Key(key) => left.seen.key.as_ref() == Some(key) && left.seen.has_ended(),
        });
        let name = probe.name.text();
        match (probe.outcome, left) {
            (Outcome::No, None) if !is_reserved(index, name, probe.span, None) => {
                found.push(violation(name, "stays taken, but nothing in the queue has it"));
            }
            (Outcome::Yes, Some(left)) if is_kept(index, left, probe.span) => {
                found.push(violation(name, format!("could be added although it is {}", left.seen)));
            }
            _ => {}
        }
    }
}

/// Whether what is left has certainly not been dropped before the call has ended.
fn is_kept(index: &HistoryIndex<'_>, left: &Left, call: Span) -> bool {
    let Some(until_ms) = left.seen.kept_until_ms else { return true };
    let until = index.history.time_of(until_ms.saturating_sub(CLOCK_MS));
    until.is_some_and(|until| call.ended.is_some_and(|ended| ended < until))
}
