//! The checker compares a history with the contract. It knows nothing of servers. A call with an
//! unknown outcome may have been executed or not.

mod adds;
mod completes;
#[cfg(test)]
mod history_builder;
mod history_index;
mod leases;
#[cfg(test)]
mod tests;
mod violation;

use std::collections::BTreeSet;

use self::history_index::HistoryIndex;
use self::violation::Violation;
use super::history::{History, Time};

#[derive(Debug, Default)]
pub(super) struct CheckReport {
    pub(super) violations: Vec<Violation>,
    /// Violations that the loss of the last window explains.
    pub(super) excused: usize,
}

/// Checks a history.
pub(super) fn check(history: &History) -> CheckReport {
    let index = HistoryIndex::new(history);
    let mut found = Vec::new();
    adds::check(&index, &mut found);
    leases::check(&index, &mut found);
    completes::check(&index, &mut found);
    let all = found.len();
    let excuses = excuses(history);
    found
        .retain(|violation| !violation.id.as_ref().is_some_and(|id| excuses.contains(id.as_str())));
    CheckReport { excused: all - found.len(), violations: found }
}

/// Items with calls in a window in which operations may be lost or repeated.
fn excuses(history: &History) -> BTreeSet<&str> {
    let within = |began: Time, ended: Option<Time>| {
        history
            .windows
            .iter()
            .any(|(from, until)| began <= *until && ended.is_none_or(|ended| ended >= *from))
    };
    let adds = history.adds.iter().filter(|add| within(add.span.began, add.span.ended));
    // A lease call may have waited long before it got a lease.
    let leases = history.leases.iter().filter(|lease| {
        lease
            .span
            .ended
            .is_some_and(|ended| within(history.given_at(lease).min(ended), Some(ended)))
    });
    let settles = history
        .settles
        .iter()
        .filter(|settle| within(settle.span.began, settle.span.ended))
        .map(|settle| history.leases[settle.lease].id.as_str());
    adds.map(|add| add.id.as_str())
        .chain(leases.map(|lease| lease.id.as_str()))
        .chain(settles)
        .collect()
}
