//! Keys: how many items are leased at the same time, and in which order.
//!
//! The model does not know when an engine holds an item, so to the model a held item is a ready one. A lease gets the first
//! of all items whose keys have a place.

use std::collections::BTreeSet;

use leaseq::{ItemInfo, Lease, State, WorkQueue};
use rand::Rng;
use rand::seq::IndexedRandom;

use crate::driver::Driver;
use crate::model::{Entry, Model, Token};
use crate::settings::PERIOD;
use crate::support::*;

const KEYS: [&[u8]; 3] = [b"a", b"b", b"a\0b"];

impl Model {
    fn key_limit(&self, key: &[u8]) -> u32 {
        let own = self.key_limits.get(key).copied();
        own.or(self.settings.key_limit).unwrap_or(1)
    }

    fn leased_of(&self, key: &[u8]) -> usize {
        let leased = self.items.values().filter(|entry| entry.state == State::Leased);
        leased.filter(|entry| entry.key.as_deref() == Some(key)).count()
    }

    fn has_place(&self, entry: &Entry) -> bool {
        let Some(key) = entry.key.as_deref() else { return true };
        self.leased_of(key) < self.key_limit(key) as usize && self.rate_allows(key)
    }

    /// What a lease of a key uses up of its rate, in µs, and how much that may be.
    fn key_rate(&self) -> Option<(u64, u64)> {
        let (count, burst) = self.settings.key_rate?;
        let step = (PERIOD * 1000).div_ceil(count.into());
        Some((step, step * u64::from(burst)))
    }

    fn refills(&self, key: &[u8], most: u64) -> u64 {
        let now = self.now * 1000;
        self.refills.get(key).copied().unwrap_or(0).clamp(now, now + most)
    }

    fn rate_allows(&self, key: &[u8]) -> bool {
        let Some((step, most)) = self.key_rate() else { return true };
        self.refills(key, most) + step <= self.now * 1000 + most
    }

    fn use_up_key(&mut self, key: &[u8]) {
        let Some((step, most)) = self.key_rate() else { return };
        self.refills.insert(key.to_vec(), self.refills(key, most) + step);
    }

    /// Leases these items, if they are those that may be leased.
    fn lease_these(&mut self, ids: &[&[u8]], count: usize, duration: u64) -> Vec<(Token, Entry)> {
        self.light_clean();
        let most = if self.is_paused() { 0 } else { count.min(self.allowed()) };
        assert!(ids.len() <= most, "{} leases instead of {most}", ids.len());
        let mut leased: Vec<(Token, Entry)> = Vec::new();
        for id in ids {
            let generation = self.ids[*id];
            let entry = &self.items[&generation];
            assert_eq!(entry.state, State::Ready, "{id:?} is leased");
            assert!(self.has_place(entry), "{id:?} is beyond the limit of {:?}", entry.key);
            let mut all = self.list(State::Ready).into_iter();
            let first = all.find(|other| self.has_place(&self.items[other]));
            let first = first.map(|first| &self.items[&first]);
            let (settings, refills, now) = (&self.settings, &self.refills, self.now);
            assert!(
                first.is_some_and(|first| first.id == *id),
                "{first:?} may be leased before {entry:?}: {settings:?}, {refills:?} at {now}"
            );
            if let Some(key) = entry.key.clone() {
                self.use_up_key(&key);
            }
            leased.push(self.lease_one(generation, duration));
        }
        // What is left has no place, or a lower priority where all that were wanted were leased.
        let lowest = leased.last().filter(|_| leased.len() == most).map(|(_, last)| last.priority);
        for entry in self.list(State::Ready).iter().map(|generation| &self.items[generation]) {
            let waits = most > 0 && lowest.is_none_or(|lowest| entry.priority > lowest);
            let stays = !waits || !self.has_place(entry);
            assert!(stays, "{:?} of {:?} could be leased", entry.id, entry.key);
        }
        self.use_up(leased.len());
        self.totals[1] += leased.len() as u64;
        leased
    }

    /// These items stand in the order of the list.
    fn assert_in_order<'a>(&self, items: impl Iterator<Item = &'a ItemInfo>) {
        let all = self.list(State::Ready);
        let place = |info: &ItemInfo| {
            let generation = self.ids.get(&info.id[..]);
            let place = all.iter().position(|other| Some(other) == generation);
            place.unwrap_or_else(|| panic!("{info:?} does not wait"))
        };
        let places: Vec<usize> = items.map(place).collect();
        assert!(places.is_sorted(), "{places:?}");
    }

    /// Items that wait, as two lists.
    pub(crate) fn assert_waiting(&self, ready: &[ItemInfo], held: &[ItemInfo]) {
        self.assert_in_order(ready.iter());
        for (key, priority) in KEYS.iter().flat_map(|key| (0..10).map(move |p| (*key, p))) {
            let same =
                |info: &&ItemInfo| info.key.as_deref() == Some(key) && info.priority == priority;
            self.assert_in_order(held.iter().filter(same));
        }
        assert!(held.iter().all(|info| info.key.is_some()));
        let seen: BTreeSet<_> = ready.iter().chain(held).map(|info| &info.id[..]).collect();
        let expected = self.list(State::Ready);
        let expected: BTreeSet<_> = expected.iter().map(|g| &self.items[g].id[..]).collect();
        assert_eq!(seen, expected);
        assert_eq!(ready.len() + held.len(), seen.len(), "one is in both lists");
    }
}

impl Driver<'_> {
    pub(crate) fn key(&mut self) -> Option<Vec<u8>> {
        let keyed = self.keyed && self.rng.random_bool(0.8);
        keyed.then(|| KEYS.choose(&mut self.rng).unwrap().to_vec())
    }

    /// What the model leases, of which these leases are a proof if items have keys.
    pub(crate) fn expected(
        &mut self,
        leases: &[Lease],
        count: usize,
        duration: u64,
    ) -> Vec<(Token, Entry)> {
        if !self.keyed {
            return self.model.lease(count, duration);
        }
        let ids: Vec<_> = leases.iter().map(|lease| lease.id()).collect();
        self.trail.steps.push(format!("leased {ids:?}"));
        self.model.lease_these(&ids, count, duration)
    }

    /// Changes limits of single keys.
    pub(crate) async fn set_key_limits(&mut self, queue: &WorkQueue) {
        let count = self.rng.random_range(1..=2);
        let limits: Vec<_> = (0..count)
            .map(|_| {
                let key = KEYS.choose(&mut self.rng).unwrap();
                (*key, *[None, Some(1), Some(2), Some(5)].choose(&mut self.rng).unwrap())
            })
            .collect();
        self.note(format!("set key limits {limits:?}"));
        queue.set_key_limits(limits.clone()).await.unwrap();
        for (key, limit) in limits {
            self.model.exists |= limit.is_some();
            match limit {
                Some(limit) => self.model.key_limits.insert(key.to_vec(), limit),
                None => self.model.key_limits.remove(key),
            };
        }
    }

    pub(crate) async fn get_keys(&mut self, queue: &WorkQueue) {
        self.note("get keys".to_owned());
        for info in queue.get_keys(KEYS).await.unwrap() {
            let (model, key) = (&self.model, &info.key[..]);
            assert_eq!(info.limit, model.key_limit(key), "{key:?}");
            assert_eq!(info.own_limit, model.key_limits.contains_key(key), "{key:?}");
            assert_eq!(info.leased, model.leased_of(key) as u64, "{key:?}");
        }
    }

    /// Those that wait, when some may be held.
    pub(crate) async fn compare_waiting(&mut self, queue: &WorkQueue) {
        let ready = list_all(queue, State::Ready, 1000).await;
        let held = list_all(queue, State::Held, 1000).await;
        self.model.assert_waiting(&ready, &held);
    }

    /// The items of this state, which is ready or held, as the queue has them.
    pub(crate) async fn waiting(&mut self, queue: &WorkQueue, state: State) -> Vec<u64> {
        self.compare_waiting(queue).await;
        let listed = list_all(queue, state, 1000).await;
        listed.iter().map(|info| self.model.ids[&info.id[..]]).collect()
    }
}

/// Whether the engine, and not the model, decides which items are in this state.
pub(crate) fn is_waiting(state: State) -> bool {
    [State::Ready, State::Held].contains(&state)
}
