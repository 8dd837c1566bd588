//! Leases of one generation: they do not overlap, attempts increase by one, and stale handles have no
//! effect.

use super::history_index::{CLOCK_MS, HistoryIndex};
use super::violation::{Violation, violation};
use crate::faults::history::{How, Lease, Outcome, ServerClock, Settle, Time};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    let mut surplus = 0;
    for leases in index.generations.values() {
        for (at, b) in leases.iter().enumerate() {
            for a in &leases[..at] {
                overlap(index, *a, *b, found);
                stale(index, *a, *b, found);
            }
        }
        surplus += attempts(index, leases, found);
        for lease in leases {
            lost_too_early(index, *lease, found);
            after_giving_back(index, *lease, found);
        }
    }
    // Each lease that no caller received explains exactly one attempt.
    let told = index.history.leases.len() as u64;
    let hidden = index.history.totals.map_or(u64::MAX, |totals| totals.leased.saturating_sub(told));
    if surplus > hidden {
        let what = format!("{surplus} attempts too many, {hidden} leases that nobody was told of");
        found.push(Violation { id: None, what });
    }
}

/// The latest deadline that the holder knows.
fn deadline(index: &HistoryIndex<'_>, lease: usize) -> u64 {
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

/// Once another lease of the generation was granted, the first one can only complete.
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

/// Nobody loses a lease before its deadline, except by releasing it or when the item is completed.
fn lost_too_early(index: &HistoryIndex<'_>, i: usize, found: &mut Vec<Violation>) {
    let lease = &index.history.leases[i];
    let ServerClock::Runs { from_ms } = index.history.clock else { return };
    if lease.keep_alive {
        return; // its holder is notified a little early
    }
    for lost in &index.settles[i] {
        let (
            How::Extend | How::Release | How::Fail | How::CompleteStrict,
            Outcome::No,
            Some(ended),
        ) = (lost.how, lost.outcome, lost.span.ended)
        else {
            continue;
        };
        let known = index.settles[i]
            .iter()
            .filter(|settle| settle.outcome == Outcome::Yes && settle.span.before(lost.span))
            .filter_map(|settle| settle.deadline_ms);
        let deadline = known.max().unwrap_or(0).max(lease.deadline_ms);
        let in_time = from_ms + ended.as_millis() as u64 + CLOCK_MS < deadline;
        let began = |settle: &&Settle| settle.outcome.may_be_done() && settle.span.began <= ended;
        let own =
            index.settles[i].iter().copied().filter(began).any(|settle| settle.how.gives_back());
        let done = index.completes(index.life(i)).any(|settle| began(&settle));
        if in_time && !own && !done {
            let what = format!("{} lost its lease before the deadline ({:?})", lost.who, lost.how);
            found.push(violation(&lease.id, what));
        }
    }
}

/// The attempt increases by 1 for each failure and each expiry. Returns how many are not explained.
fn attempts(index: &HistoryIndex<'_>, leases: &[usize], found: &mut Vec<Violation>) -> u64 {
    let all = &index.history.leases;
    let mut surplus = 0;
    let mut before: Option<usize> = None;
    for i in leases {
        let lease = &all[*i];
        let mut wrong = |what: String| found.push(violation(&lease.id, what));
        if lease.attempt != 1 + lease.failures + lease.expiries {
            wrong(format!("attempt {} is not 1 and what is counted", lease.attempt));
        }
        let (expected, known) = match before {
            None => (1..=1, 0),
            Some(before) => next_attempt(index, before),
        };
        if lease.attempt < *expected.start() {
            wrong(format!("attempt {} was counted twice", lease.attempt));
        }
        let more = lease.attempt.saturating_sub(*expected.end());
        surplus += more;
        if more > hidden(index, lease) {
            wrong(format!("attempt {} comes after {}", lease.attempt, expected.end() - known));
        }
        if let Some(before) = before.map(|before| &all[before]) {
            if lease.span.before(before.span) {
                wrong(format!("attempt {} came before {}", lease.attempt, before.attempt));
            }
            if lease.failures < before.failures || lease.expiries < before.expiries {
                wrong("its failures or expiries went down".into());
            }
        }
        before = Some(*i);
    }
    surplus
}

/// The possible attempts of the next lease, and by how much the end of this lease may increase them.
fn next_attempt(index: &HistoryIndex<'_>, before: usize) -> (std::ops::RangeInclusive<u64>, u64) {
    let attempt = index.history.leases[before].attempt;
    let ends = |how: How, outcome: Outcome| {
        index.settles[before].iter().any(|settle| settle.how == how && settle.outcome == outcome)
    };
    if ends(How::Release, Outcome::Yes) {
        (attempt..=attempt, 0)
    } else if ends(How::Release, Outcome::Unknown) {
        (attempt..=attempt + 1, 1)
    } else {
        (attempt + 1..=attempt + 1, 1)
    }
}

/// Counts the lease calls that may have leased the item without an answer to any caller: a call may end
/// before its request is executed, and the resulting lease is released or expires.
fn hidden(index: &HistoryIndex<'_>, then: &Lease) -> u64 {
    let asks = index.history.asks.iter();
    asks.filter(|ask| then.span.ended.is_none_or(|ended| ask.span.began <= ended)).count() as u64
}
