//! In any time, no more leases are given than the rate of the queue allows, and that of each key.

use std::collections::BTreeMap;

use super::history_index::HistoryIndex;
use super::meter::Meter;
use super::violation::Violation;
use crate::faults::history::{Lease, Outcome, ServerClock, Time};

/// Leases that no caller received are missing, so it may find less than there is.
pub(super) fn check(index: &HistoryIndex<'_>, found: &mut Vec<Violation>) {
    let history = index.history;
    if !history.windows.is_empty() || history.two_masters {
        return;
    }
    let all: Vec<&Lease> = history.leases.iter().collect();
    let mut by_key: BTreeMap<&str, Vec<&Lease>> = BTreeMap::new();
    for life in index.lives.values() {
        if let Some(key) = &life.add.options.limit_key {
            let leases = life.leases.iter().map(|lease| index.lease(*lease));
            by_key.entry(key).or_default().extend(leases);
        }
    }
    let mut check = |of: &str, of_keys: bool, leases: &[&Lease]| {
        let exceeded = match history.clock {
            ServerClock::Runs { .. } => Meter::new(history, of_keys).exceeded_by(leases),
            ServerClock::Jumps => beside_jumps(index, of_keys, leases),
        };
        if let Some(what) = exceeded {
            found.push(Violation { id: None, what: format!("more of {of} is leased {what}") });
        }
    };
    check("the queue", false, &all);
    for (key, leases) in by_key {
        check(&format!("the key {key:?}"), true, &leases);
    }
}

/// Between two jumps the server's clock runs. All the time another clock runs, by which calls are known.
fn beside_jumps(index: &HistoryIndex<'_>, of_keys: bool, leases: &[&Lease]) -> Option<String> {
    let history = index.history;
    let sets = history.rates.iter().filter(|set| set.of_keys == of_keys);
    let answered = sets.filter(|set| set.outcome == Outcome::Yes);
    let since = answered.filter_map(|set| set.span.ended).min()?;
    let rated = leases.iter().copied().filter(|lease| lease.span.began > since);
    let rated: Vec<&Lease> = rated.collect();
    // How many jumps there were before each of these.
    let mut between: BTreeMap<usize, Vec<&Lease>> = BTreeMap::new();
    for lease in &rated {
        let before = history.jumps.iter().filter(|jump| jump.before(lease.span)).count();
        let later = history.jumps.iter().filter(|jump| lease.span.before(**jump)).count();
        if before + later == history.jumps.len() {
            between.entry(before).or_default().push(lease);
        }
    }
    let meter = Meter::of_highest(of_keys);
    let mut exceeded = between.values().filter_map(|leases| meter.exceeded_by(leases));
    exceeded.next().or_else(|| {
        let jumps: Vec<Time> = history.jumps.iter().map(|jump| jump.began).collect();
        meter.exceeded_in_calls(&rated, &jumps)
    })
}
