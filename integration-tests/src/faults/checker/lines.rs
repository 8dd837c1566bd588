//! Held items keep their order, and no key stays blocked.

use super::history_index::HistoryIndex;
use super::life::Life;
use super::violation::{Violation, violation};
use crate::faults::history::{Lease, Outcome, Span, Time};

/// How long a key may have a place that nobody takes, in ms. A script that was stopped is repaired meanwhile.
const BLOCKED_MS: u64 = 1_000;
/// The longest lease, and how long a request that has no answer may be repeated, in ms.
const LEASE_MS: u64 = 5_000;
const REPEATED_MS: u64 = 15_000;

/// Whether `first` was certainly given before `then`.
fn is_given_before(first: &Lease, then: &Lease) -> bool {
    if first.keep_alive || then.keep_alive {
        return first.span.before(then.span);
    }
    first.given_ms() < then.given_ms()
}

/// The first leases of items that have certainly waited until then.
fn firsts<'a>(
    index: &HistoryIndex<'a>,
    lives: impl Iterator<Item = &'a Life<'a>>,
) -> Vec<(&'a Life<'a>, &'a Lease)> {
    let hidden = |from: Time, until: Time| {
        let meets =
            |span: Span| span.began <= until && span.ended.is_none_or(|ended| ended >= from);
        index.history.asks.iter().any(|ask| meets(ask.span))
    };
    let waits = lives.filter(|life| !life.add.options.delayed && life.changes.is_empty());
    let first = |life: &'a Life<'a>| {
        let first = life.leases.iter().map(|i| index.lease(*i)).min_by_key(|one| one.span.began);
        let first = first.filter(|first| first.attempt == 1)?;
        (!hidden(life.add.span.began, first.span.ended?)).then_some((life, first))
    };
    waits.filter_map(first).collect()
}

/// An item that waited certainly before another one of its key and priority is leased before it. An item that may have
/// been leased or moved before proves nothing.
pub(super) fn order(index: &HistoryIndex<'_>, lives: &[&Life<'_>], found: &mut Vec<Violation>) {
    let firsts = firsts(index, lives.iter().copied());
    for (earlier, its) in &firsts {
        let overtaken = firsts.iter().find(|(later, other)| {
            later.add.options.priority == earlier.add.options.priority
                && earlier.add.span.before(later.add.span)
                && is_given_before(other, its)
        });
        if let Some((later, _)) = overtaken {
            let what = format!("was overtaken by {}, which was added later", later.id());
            found.push(violation(earlier.id(), what));
        }
    }
}

/// An item waits, none of its key is leased, and yet later items of other keys are leased all the time.
pub(super) fn blocked(
    index: &HistoryIndex<'_>,
    key: &str,
    lives: &[&Life<'_>],
    found: &mut Vec<Violation>,
) {
    // A key whose rate is used up waits with a place.
    if index.history.rates.iter().any(|set| set.of_keys) {
        return;
    }
    let mut busy: Vec<_> = index.history.asks.iter().map(|ask| unseen(ask.span)).collect();
    for life in lives {
        busy.extend(life.leases.iter().map(|lease| taken(index, *lease)));
    }
    busy.sort_unstable();
    let others = index.lives.values();
    let others = others.filter(|life| life.add.options.limit_key.as_deref() != Some(key));
    let others = firsts(index, others);
    let waits = lives.iter().filter(|life| {
        let options = &life.add.options;
        life.add.outcome == Outcome::Yes
            && life.changes.is_empty()
            && life.replaced_by.is_empty()
            && !options.delayed
            && !options.limited
            && options.expires_in_ms.is_none()
    });
    for life in waits {
        let Some(added) = life.add.span.ended else { continue };
        let first = life.leases.iter().map(|i| index.lease(*i).span.began).min();
        let until = first.unwrap_or(Time::MAX);
        for (from, until) in gaps(&busy, added, until) {
            let enough = from + Time::from_millis(BLOCKED_MS);
            let passed = others.iter().find(|(other, lease)| {
                other.add.options.priority == life.add.options.priority
                    && life.add.span.before(other.add.span)
                    && lease.span.began >= enough
                    && lease.span.ended.is_some_and(|ended| ended <= until)
            });
            if let Some((other, _)) = passed {
                let other = other.id();
                let what =
                    format!("is blocked: its key is free since {from:?}, {other} was leased");
                found.push(violation(life.id(), what));
                break;
            }
        }
    }
}

/// When a lease may have had a place.
fn taken(index: &HistoryIndex<'_>, lease: usize) -> (Time, Time) {
    let done = index.settles[lease].iter().filter(|settle| {
        settle.outcome == Outcome::Yes && (settle.how.completes() || settle.how.gives_back())
    });
    let done = done.filter_map(|settle| settle.span.ended).min();
    let began = index.lease(lease).span.began;
    (began, done.unwrap_or_else(|| expired(index, lease).max(began)))
}

/// When a lease that nobody has ended is over at the latest.
fn expired(index: &HistoryIndex<'_>, lease: usize) -> Time {
    let extended = index.settles[lease].iter().map(|settle| over(settle.span));
    let last = extended.chain([over(index.lease(lease).span)]).max().unwrap_or(Time::MAX);
    last.saturating_add(Time::from_millis(LEASE_MS))
}

/// When leases that no caller received may have had places.
fn unseen(ask: Span) -> (Time, Time) {
    (ask.began, over(ask).saturating_add(Time::from_millis(LEASE_MS)))
}

/// When a call is over, at the latest.
fn over(call: Span) -> Time {
    call.ended.unwrap_or(call.began.saturating_add(Time::from_millis(REPEATED_MS)))
}

/// The times between these that lie in none of the sorted intervals.
fn gaps(busy: &[(Time, Time)], from: Time, until: Time) -> Vec<(Time, Time)> {
    let (mut gaps, mut free) = (Vec::new(), from);
    for (began, ended) in busy {
        if *began > free && free < until {
            gaps.push((free, (*began).min(until)));
        }
        free = free.max(*ended);
    }
    if free < until {
        gaps.push((free, until));
    }
    gaps
}
