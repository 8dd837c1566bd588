//! Leases of one life: they do not overlap, and stale handles have no effect.

use super::clock::CLOCK_MS;
use super::history_index::HistoryIndex;
use super::life::Life;
use super::violation::{Violation, violation};
use crate::faults::history::{How, Lease, Outcome, ServerClock, Settle, Time, What};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    for life in index.lives.values() {
        for (at, b) in life.leases.iter().enumerate() {
            for a in &life.leases[..at] {
                overlap(index, *a, *b, found);
                stale(index, *a, *b, found);
            }
        }
        for lease in &life.leases {
            lost_too_early(index, life, *lease, found);
            after_giving_back(index, *lease, found);
        }
    }
}

/// The latest deadline that the holder knows.
pub(super) fn deadline(index: &HistoryIndex<'_>, lease: usize) -> u64 {
    let extended = index.settles[lease].iter().filter(|settle| settle.outcome == Outcome::Yes);
    let latest = extended.filter_map(|settle| settle.deadline_ms).max().unwrap_or(0);
    latest.max(index.history.leases[lease].deadline_ms)
}

fn overlap(index: &HistoryIndex<'_>, a: usize, b: usize, found: &mut Vec<Violation>) {
    let (first, second) = (&index.history.leases[a], &index.history.leases[b]);
    let (from, until) =
        (first.span.began.min(second.span.began), first.span.ended.max(second.span.ended));
    // It is unknown whether the deadline had passed before the clock was set back.
    let set_back = index.history.set_back.iter().any(|at| *at >= from && Some(*at) <= until);
    if set_back || follows(index, a, second) || follows(index, b, first) {
        return;
    }
    let what = format!("{} and {} had it at the same time", first.who, second.who);
    found.push(violation(&first.id, what));
}

/// Whether `then` may be granted after lease `a`.
fn follows(index: &HistoryIndex<'_>, a: usize, then: &Lease) -> bool {
    let first = &index.history.leases[a];
    if then.span.before(first.span) {
        return false;
    }
    let ended = |began: Time| then.span.ended.is_none_or(|ended| began <= ended);
    let given_back = index.settles[a].iter().any(|settle| {
        settle.how.gives_back() && settle.outcome.may_be_done() && ended(settle.span.began)
    });
    given_back || then.given_ms() >= deadline(index, a)
}

/// Once another lease was granted, the first one can only complete.
fn stale(index: &HistoryIndex<'_>, a: usize, b: usize, found: &mut Vec<Violation>) {
    for (old, new) in [(a, b), (b, a)] {
        let new = &index.history.leases[new];
        if !index.history.leases[old].span.before(new.span) {
            continue;
        }
        for settle in &index.settles[old] {
            let acts = !matches!(settle.how, How::Complete | How::Look);
            if acts && settle.outcome == Outcome::Yes && new.span.before(settle.span) {
                let what = format!(
                    "{} could {:?} a lease after {} was given the next",
                    settle.who, settle.how, new.who
                );
                found.push(violation(&new.id, what));
            }
        }
    }
}

/// A released lease is over for its holder.
fn after_giving_back(index: &HistoryIndex<'_>, lease: usize, found: &mut Vec<Violation>) {
    let acts = |settle: &&&Settle| {
        settle.outcome == Outcome::Yes && !matches!(settle.how, How::Complete | How::Look)
    };
    let done: Vec<_> = index.settles[lease].iter().filter(acts).collect();
    for back in done.iter().filter(|settle| settle.how.gives_back()) {
        if done.iter().any(|later| back.span.before(later.span)) {
            found.push(violation(index.id_of(back), "was given back and held all the same"));
        }
    }
}

/// Nobody loses a lease before its deadline, except by releasing it or when the item is completed or removed.
fn lost_too_early(index: &HistoryIndex<'_>, life: &Life<'_>, i: usize, found: &mut Vec<Violation>) {
    let lease = &index.history.leases[i];
    let ServerClock::Runs { from_ms } = index.history.clock else { return };
    if lease.keep_alive {
        return; // its holder is notified a little early
    }
    for lost in &index.settles[i] {
        let (
            How::Extend | How::Release | How::Fail | How::FailDead | How::CompleteStrict,
            Outcome::No,
            Some(ended),
        ) = (lost.how, lost.outcome, lost.span.ended)
        else {
            continue;
        };
        let deadline = index.known_deadline(i, lost.span);
        let in_time = from_ms + ended.as_millis() as u64 + CLOCK_MS < deadline;
        let began = |settle: &&Settle| settle.outcome.may_be_done() && settle.span.began <= ended;
        let own =
            index.settles[i].iter().copied().filter(began).any(|settle| settle.how.gives_back());
        let done = life.completes.iter().any(began);
        let removed =
            life.possible().any(|change| change.what == What::Remove && change.span.began <= ended);
        if in_time && !own && !done && !removed {
            let what = format!("{} lost its lease before the deadline ({:?})", lost.who, lost.how);
            found.push(violation(&lease.id, what));
        }
    }
}
