//! The history of a run, indexed for the rules.

use std::collections::{BTreeMap, BTreeSet};

use crate::faults::history::{Add, History, How, Lease, Outcome, ServerClock, Settle, Time};

/// How far the server's clock may differ from ours, by rounding and slewing.
pub(super) const CLOCK_MS: u64 = 50;

impl History {
    /// Converts a time of the server's clock to one of the run; `None` if the clock jumped.
    pub(super) fn time_of(&self, server_ms: u64) -> Option<Time> {
        let ServerClock::Runs { from_ms } = self.clock else { return None };
        Some(Time::from_millis(server_ms.saturating_sub(from_ms)))
    }

    /// When a lease was given, at the earliest.
    pub(super) fn given_at(&self, lease: &Lease) -> Time {
        let given = self.time_of(lease.given_ms()).filter(|_| !lease.keep_alive);
        let margin = Time::from_millis(CLOCK_MS);
        given.map_or(lease.span.began, |at| at.saturating_sub(margin).max(lease.span.began))
    }
}

/// A generation: its number and its id.
pub(super) type Life<'a> = (u64, &'a str);

/// The history, indexed.
pub(super) struct HistoryIndex<'a> {
    pub(super) history: &'a History,
    /// By digest of the data, which is unique to each add.
    pub(super) adds: BTreeMap<u64, &'a Add>,
    pub(super) by_id: BTreeMap<&'a str, Vec<&'a Add>>,
    /// Leases of each generation, in the order in which they were granted.
    pub(super) generations: BTreeMap<Life<'a>, Vec<usize>>,
    /// Completions of each generation.
    pub(super) completes: BTreeMap<Life<'a>, Vec<&'a Settle>>,
    /// Uses of each lease.
    pub(super) settles: Vec<Vec<&'a Settle>>,
    /// Generations of each add: at most one if all is well.
    pub(super) of_add: BTreeMap<u64, BTreeSet<Life<'a>>>,
}

impl<'a> HistoryIndex<'a> {
    pub(super) fn new(history: &'a History) -> Self {
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
    pub(super) fn life(&self, lease: usize) -> Life<'a> {
        let lease = &self.history.leases[lease];
        (lease.generation, &lease.id)
    }

    /// All attempts to complete the item of an add.
    pub(super) fn completes_of(&self, data: u64) -> impl Iterator<Item = &'a Settle> {
        let generations = self.of_add.get(&data).into_iter().flatten();
        generations.filter_map(|generation| self.completes.get(generation)).flatten().copied()
    }

    pub(super) fn completes(&self, generation: Life<'a>) -> impl Iterator<Item = &'a Settle> {
        self.completes.get(&generation).into_iter().flatten().copied()
    }

    /// Completions that certainly returned true.
    pub(super) fn trues(&self, generation: Life<'a>) -> impl Iterator<Item = &'a Settle> {
        self.completes(generation).filter(|settle| settle.outcome == Outcome::Yes)
    }

    pub(super) fn id_of(&self, settle: &Settle) -> &'a str {
        &self.history.leases[settle.lease].id
    }
}
