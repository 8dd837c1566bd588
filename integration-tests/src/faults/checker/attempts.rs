//! Attempts increase by one with each failure and each expiry.

use std::ops::RangeInclusive;

use super::history_index::HistoryIndex;
use super::violation::{Violation, violation};
use crate::faults::history::{How, Lease, Outcome, What};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    let mut surplus = 0;
    for life in index.lives.values() {
        // `requeue` lets attempts count from 0 again, so what they must be is not certain.
        if !life.may_be(|what| what == What::Requeue) {
            surplus += attempts(index, &life.leases, found);
        }
    }
    // Each lease that no caller received explains exactly one attempt.
    let hidden = index.hidden.unwrap_or(u64::MAX);
    if surplus > hidden {
        let what = format!("{surplus} attempts too many, {hidden} leases that nobody was told of");
        found.push(Violation { id: None, what });
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
fn next_attempt(index: &HistoryIndex<'_>, before: usize) -> (RangeInclusive<u64>, u64) {
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
