//! An item that expires is not leased for the first time after that.

use super::changes::may_be_requeued;
use super::history_index::HistoryIndex;
use super::violation::{Violation, violation};
use crate::faults::history::Outcome;

pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    for life in index.lives.values() {
        // An add with an unknown outcome may have been executed later.
        let (Some(ms), Outcome::Yes) = (life.add.options.expires_in_ms, life.add.outcome) else {
            continue;
        };
        let Some(at) = life.add.span.ended.and_then(|at| index.history.latest(at, ms)) else {
            continue;
        };
        for lease in life.leases.iter().map(|i| index.lease(*i)) {
            let first = lease.failures + lease.expiries == 0;
            let late = index.history.given_at(lease) > at;
            if first && late && !may_be_requeued(life, life.add.span.began, lease.span.ended) {
                found.push(violation(
                    life.id(),
                    format!("was given to {} after it expired", lease.who),
                ));
            }
        }
    }
}
