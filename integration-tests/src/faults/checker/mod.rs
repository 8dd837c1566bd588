//! The checker compares a history with the contract. It knows nothing of servers. A call with an
//! unknown outcome may have been executed or not.

mod adds;
mod completes;
#[cfg(test)]
mod history_builder;
mod leases;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::history::{Add, History, How, Id, Outcome, ServerClock, Settle, Time};

/// How far the server's clock may differ from ours, by rounding and slewing.
const CLOCK_MS: u64 = 50;

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    /// `None` if it concerns the whole queue.
    pub(super) id: Option<Id>,
    pub(super) what: String,
}

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

impl History {
    /// Converts a time of the server's clock to one of the run; `None` if the clock jumped.
    fn time_of(&self, server_ms: u64) -> Option<Time> {
        let ServerClock::Runs { from_ms } = self.clock else { return None };
        Some(Time::from_millis(server_ms.saturating_sub(from_ms)))
    }

    /// When a lease was given, at the earliest.
    fn given_at(&self, lease: &super::history::Lease) -> Time {
        let given = self.time_of(lease.given_ms()).filter(|_| !lease.keep_alive);
        let margin = Time::from_millis(CLOCK_MS);
        given.map_or(lease.span.began, |at| at.saturating_sub(margin).max(lease.span.began))
    }
}

/// A generation: its number and its id.
type Life<'a> = (u64, &'a str);

/// The history, indexed.
struct HistoryIndex<'a> {
    history: &'a History,
    /// By digest of the data, which is unique to each add.
    adds: BTreeMap<u64, &'a Add>,
    by_id: BTreeMap<&'a str, Vec<&'a Add>>,
    /// Leases of each generation, in the order in which they were granted.
    generations: BTreeMap<Life<'a>, Vec<usize>>,
    /// Completions of each generation.
    completes: BTreeMap<Life<'a>, Vec<&'a Settle>>,
    /// Uses of each lease.
    settles: Vec<Vec<&'a Settle>>,
    /// Generations of each add: at most one if all is well.
    of_add: BTreeMap<u64, BTreeSet<Life<'a>>>,
}

impl<'a> HistoryIndex<'a> {
    fn new(history: &'a History) -> Self {
        let mut index = HistoryIndex {
            history,
            adds: history.adds.iter().map(|add| (add.data, add)).collect(),
            by_id: BTreeMap::new(),
            generations: BTreeMap::new(),
            completes: BTreeMap::new(),
            settles: vec![Vec::new(); history.leases.len()],
            of_add: BTreeMap::new(),
        };
        for add in &history.adds {
            index.by_id.entry(&add.id).or_default().push(add);
        }
        for (i, lease) in history.leases.iter().enumerate() {
            let life = index.life(i);
            index.generations.entry(life).or_default().push(i);
            index.of_add.entry(lease.data).or_default().insert(life);
        }
        let mut released = vec![false; history.leases.len()];
        for settle in &history.settles {
            index.settles[settle.lease].push(settle);
            released[settle.lease] |= settle.how == How::Release && settle.outcome.may_be_done();
            if settle.how.completes() {
                index.completes.entry(index.life(settle.lease)).or_default().push(settle);
            }
        }
        for leases in index.generations.values_mut() {
            // Attempts never decrease. Of leases with the same attempt, all but the last were
            // released. The server's clock orders them, unless it was set back.
            leases.sort_by_key(|i| {
                let lease = &history.leases[*i];
                let by_clock = history.set_back.is_empty().then(|| lease.given_ms());
                (lease.attempt, !released[*i], by_clock, lease.span.ended)
            });
        }
        index
    }

    /// The generation of a lease.
    fn life(&self, lease: usize) -> Life<'a> {
        let lease = &self.history.leases[lease];
        (lease.generation, &lease.id)
    }

    /// All attempts to complete the item of an add.
    fn completes_of(&self, data: u64) -> impl Iterator<Item = &'a Settle> {
        let generations = self.of_add.get(&data).into_iter().flatten();
        generations.filter_map(|generation| self.completes.get(generation)).flatten().copied()
    }

    fn completes(&self, generation: Life<'a>) -> impl Iterator<Item = &'a Settle> {
        self.completes.get(&generation).into_iter().flatten().copied()
    }

    /// Completions that certainly returned true.
    fn trues(&self, generation: Life<'a>) -> impl Iterator<Item = &'a Settle> {
        self.completes(generation).filter(|settle| settle.outcome == Outcome::Yes)
    }

    fn id_of(&self, settle: &Settle) -> &'a str {
        &self.history.leases[settle.lease].id
    }
}

fn violation(id: &str, what: impl Into<String>) -> Violation {
    Violation { id: Some(id.to_owned()), what: what.into() }
}
