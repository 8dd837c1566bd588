//! The checker compares a history with the contract. It knows nothing of servers. A call with an
//! unknown outcome may have been executed or not.

mod adds;
mod attempts;
mod changes;
mod clock;
mod completes;
mod excuses;
mod expiry;
#[cfg(test)]
mod history_builder;
mod history_index;
mod keys;
mod lasting;
mod leases;
mod life;
mod limits;
mod lines;
mod meter;
mod names;
mod rates;
mod refusals;
mod results;
#[cfg(test)]
mod tests;
mod times;
mod totals;
mod violation;

use self::excuses::excuses;
use self::history_index::HistoryIndex;
use self::violation::Violation;
use super::history::History;

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
    names::check(&index, &mut found);
    refusals::check(&index, &mut found);
    leases::check(&index, &mut found);
    attempts::check(&index, &mut found);
    completes::check(&index, &mut found);
    changes::check(&index, &mut found);
    results::check(&index, &mut found);
    expiry::check(&index, &mut found);
    totals::check(&index, &mut found);
    rates::check(&index, &mut found);
    keys::check(&index, &mut found);
    let all = found.len();
    let excuses = excuses(history);
    found
        .retain(|violation| !violation.id.as_ref().is_some_and(|id| excuses.contains(id.as_str())));
    CheckReport { excused: all - found.len(), violations: found }
}
