//! No key has more current leases than its limit.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::history_index::HistoryIndex;
use super::leases::deadline;
use super::life::Life;
use super::lines;
use super::violation::{Violation, violation};
use crate::faults::history::{Lease, ServerClock, Settle, Time, What};

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    let history = index.history;
    for left in history.left.iter().filter(|left| left.seen.state == "held") {
        found.push(violation(&left.id, "is held for ever"));
    }
    let is_known = matches!(history.clock, ServerClock::Runs { .. })
        && history.windows.is_empty()
        && !history.two_masters;
    if !is_known {
        return;
    }
    let mut by_key: BTreeMap<&str, Vec<&Life<'_>>> = BTreeMap::new();
    for life in index.lives.values() {
        if let Some(key) = &life.add.options.limit_key {
            by_key.entry(key).or_default().push(life);
        }
    }
    for (key, lives) in by_key {
        limit(index, key, &lives, found);
        lines::order(index, &lives, found);
        lines::blocked(index, key, &lives, found);
    }
}

/// A lease of a key.
struct Grant<'a> {
    /// The data with which its item was added.
    item: u64,
    lease: &'a Lease,
    /// The latest deadline that is known.
    deadline_ms: u64,
    /// When the first call began that may have ended it.
    settled: Time,
}

impl<'a> Grant<'a> {
    fn new(index: &HistoryIndex<'a>, life: &Life<'_>, i: usize) -> Self {
        let own = index.settles[i].iter().copied();
        let own = own.filter(|settle| settle.how.completes() || settle.how.gives_back());
        let ends = own.chain(life.completes.iter().copied());
        let ends = ends.filter(|settle: &&Settle| settle.outcome.may_be_done());
        let removed = life.possible().filter(|change| change.what == What::Remove);
        let began = ends.map(|settle| settle.span.began);
        Grant {
            item: life.add.data,
            lease: index.lease(i),
            deadline_ms: deadline(index, i),
            settled: began.chain(removed.map(|it| it.span.began)).min().unwrap_or(Time::MAX),
        }
    }

    /// Whether this lease was certainly current when the other one was given, by the server's clock. A lease is current
    /// until its deadline at least, unless somebody ends it; whoever extended it in time has kept it.
    fn is_current_at(&self, other: &Grant<'_>) -> bool {
        if self.item == other.item {
            return false; // see `leases`
        }
        let (own, then) = (self.lease, other.lease);
        let is_settled = then.span.ended.is_none_or(|ended| self.settled < ended);
        if is_settled {
            return false;
        }
        // When a lease that is kept alive was given is known too late. In one ms only the calls tell which one was given
        // first. One call gives all its leases at once.
        let is_first = match own.given_ms().cmp(&then.given_ms()) {
            _ if own.keep_alive || then.keep_alive => own.span.before(then.span),
            Ordering::Less => true,
            Ordering::Equal => {
                own.span.before(then.span) || (own.who == then.who && own.span == then.span)
            }
            Ordering::Greater => false,
        };
        is_first && self.deadline_ms > then.given_ms()
    }
}

/// A limit may be lowered below the number of current leases, so it counts when a lease is given.
fn limit(index: &HistoryIndex<'_>, key: &str, lives: &[&Life<'_>], found: &mut Vec<Violation>) {
    let each = lives.iter().flat_map(|life| life.leases.iter().map(|lease| (*life, *lease)));
    let grants: Vec<_> = each.map(|(life, lease)| Grant::new(index, life, lease)).collect();
    for given in &grants {
        let current = grants.iter().filter(|other| other.is_current_at(given)).count() as u64;
        let most = index.history.highest_limit(key, given.lease.span);
        if current >= most {
            let (id, at) = (&given.lease.id, given.lease.given_ms());
            let what = format!(
                "is leased at {at} while {current} leases of {key} are current: its limit is {most}"
            );
            return found.push(violation(id, what));
        }
    }
}
