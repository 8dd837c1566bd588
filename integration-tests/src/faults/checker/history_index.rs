//! The history of a run, indexed for the rules.

use std::collections::{BTreeMap, BTreeSet};

use super::life::Life;
use crate::faults::history::{Add, Change, History, How, Lease, Left, Look, Settle, What};

/// A generation: its number and its id.
pub(super) type Generation<'a> = (u64, &'a str);

/// The history, indexed.
pub(super) struct HistoryIndex<'a> {
    pub(super) history: &'a History,
    /// By digest of the data, which is unique to each add.
    pub(super) adds: BTreeMap<u64, &'a Add>,
    /// Revisions by digest of their data, each with the data that the item had.
    pub(super) revisions: BTreeMap<u64, (&'a Change, Option<u64>)>,
    /// Adds, by id and by unique key.
    pub(super) by_id: BTreeMap<&'a str, Vec<&'a Add>>,
    pub(super) by_key: BTreeMap<&'a str, Vec<&'a Add>>,
    /// Changes by id.
    pub(super) changes: BTreeMap<&'a str, Vec<&'a Change>>,
    /// What happened to the item of each add, by the digest of its data.
    pub(super) lives: BTreeMap<u64, Life<'a>>,
    /// Leases of each generation.
    pub(super) generations: BTreeMap<Generation<'a>, Vec<usize>>,
    /// Looks by id, without those that may show what is not confirmed.
    looks: BTreeMap<&'a str, Vec<&'a Look>>,
    /// What is left, by the digest of the data with which it was added.
    left: BTreeMap<u64, Vec<&'a Left>>,
    /// Uses of each lease.
    pub(super) settles: Vec<Vec<&'a Settle>>,
    /// The add of each lease, by the digest of its data; `None` if nobody has added it.
    pub(super) life_of: Vec<Option<u64>>,
    /// How many leases no caller received; `None` if that is unknown.
    pub(super) hidden: Option<u64>,
}

impl<'a> HistoryIndex<'a> {
    pub(super) fn new(history: &'a History) -> Self {
        let told = history.leases.len() as u64;
        let mut index = HistoryIndex {
            history,
            adds: history.adds.iter().map(|add| (add.data, add)).collect(),
            revisions: BTreeMap::new(),
            by_id: BTreeMap::new(),
            by_key: BTreeMap::new(),
            changes: BTreeMap::new(),
            lives: BTreeMap::new(),
            generations: BTreeMap::new(),
            looks: BTreeMap::new(),
            left: BTreeMap::new(),
            settles: vec![Vec::new(); history.leases.len()],
            life_of: Vec::new(),
            hidden: history.totals.map(|totals| totals.leased.saturating_sub(told)),
        };
        for add in &history.adds {
            index.by_id.entry(&add.id).or_default().push(add);
            if let Some(key) = &add.options.key {
                index.by_key.entry(key).or_default().push(add);
            }
        }
        for change in &history.changes {
            index.changes.entry(&change.id).or_default().push(change);
            if let What::Revise { data: Some(data), .. } = change.what {
                let before = index.data_before(change);
                index.revisions.insert(data, (change, before));
            }
        }
        for (i, lease) in history.leases.iter().enumerate() {
            index.generations.entry((lease.generation, &lease.id)).or_default().push(i);
            index.life_of.push(index.origin(lease.data));
        }
        for settle in &history.settles {
            index.settles[settle.lease].push(settle);
        }
        for look in history.looks.iter().filter(|look| !history.is_vague(look.span)) {
            index.looks.entry(&look.id).or_default().push(look);
        }
        for left in &history.left {
            if let Some(origin) = index.origin(left.seen.data) {
                index.left.entry(origin).or_default().push(left);
            }
        }
        index.lives = index.find_lives();
        index
    }

    /// The data of the item that a change expects; of a change of an id that only one item ever had, that item's.
    fn data_before(&self, change: &Change) -> Option<u64> {
        match change.expects {
            Some(look) => Some(self.history.looks[look].seen.as_ref()?.data),
            None => match self.by_id.get(change.id.as_str())?[..] {
                [add] => Some(add.data),
                _ => None,
            },
        }
    }

    /// The data with which the item of this data was added; `None` if nobody has added it.
    pub(super) fn origin(&self, data: u64) -> Option<u64> {
        let mut data = data;
        for _ in 0..=self.revisions.len() {
            if self.adds.contains_key(&data) {
                return Some(data);
            }
            data = self.revisions.get(&data)?.1?;
        }
        None
    }

    /// The life that a change concerns, if that is certain.
    pub(super) fn target(&self, change: &Change) -> Option<u64> {
        self.origin(self.data_before(change)?)
    }

    fn find_lives(&self) -> BTreeMap<u64, Life<'a>> {
        let mut lives: BTreeMap<u64, Life<'a>> =
            self.adds.iter().map(|(data, add)| (*data, Life::new(add))).collect();
        for (i, origin) in self.life_of.iter().enumerate() {
            if let Some(life) = origin.and_then(|origin| lives.get_mut(&origin)) {
                life.leases.push(i);
                let completes = self.settles[i].iter().filter(|settle| settle.how.completes());
                life.completes.extend(completes);
            }
        }
        for (id, changes) in &self.changes {
            for change in changes {
                let target = self.target(change);
                for add in self.by_id.get(id).into_iter().flatten() {
                    let concerned = match (change.expects, target) {
                        (Some(_), Some(target)) => target == add.data,
                        _ => !change.span.before(add.span),
                    };
                    if let Some(life) = lives.get_mut(&add.data).filter(|_| concerned) {
                        life.changes.push(change);
                    }
                }
            }
        }
        for adds in self.by_id.values().chain(self.by_key.values()) {
            for by in adds.iter().filter(|add| add.options.replace && add.outcome.may_be_done()) {
                for add in adds.iter().filter(|add| add.data != by.data) {
                    if let Some(life) = lives.get_mut(&add.data)
                        && !by.span.before(add.span)
                    {
                        life.replaced_by.push(by);
                    }
                }
            }
        }
        for life in lives.values_mut() {
            self.sort(&mut life.leases);
        }
        lives
    }

    /// In the order in which they were granted. Attempts never decrease within a life, unless the item is requeued.
    /// Of leases with the same attempt, all but the last were released. The server's clock orders them, unless it was
    /// set back.
    fn sort(&self, leases: &mut [usize]) {
        leases.sort_by_key(|i| {
            let lease = &self.history.leases[*i];
            let by_clock = self.history.set_back.is_empty().then(|| lease.given_ms());
            let released = self.settles[*i]
                .iter()
                .any(|settle| settle.how == How::Release && settle.outcome.may_be_done());
            (lease.attempt, !released, by_clock, lease.span.ended)
        });
    }

    /// All uses of its leases.
    pub(super) fn uses<'b>(&'b self, life: &'b Life<'_>) -> impl Iterator<Item = &'a Settle> + 'b {
        life.leases.iter().flat_map(|lease| self.settles[*lease].iter().copied())
    }

    pub(super) fn looks_at(&self, id: &str) -> impl Iterator<Item = &'a Look> {
        self.looks.get(id).into_iter().flatten().copied()
    }

    pub(super) fn left_of(&self, life: &Life<'_>) -> impl Iterator<Item = &'a Left> {
        self.left.get(&life.add.data).into_iter().flatten().copied()
    }

    pub(super) fn lease(&self, i: usize) -> &'a Lease {
        &self.history.leases[i]
    }

    pub(super) fn id_of(&self, settle: &Settle) -> &'a str {
        &self.history.leases[settle.lease].id
    }

    /// The generations of the item of an add.
    pub(super) fn generations_of(&self, life: &Life<'_>) -> BTreeSet<u64> {
        life.leases.iter().map(|i| self.lease(*i).generation).collect()
    }
}
