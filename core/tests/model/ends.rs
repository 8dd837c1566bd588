//! What outlives an item: retained items, results and unique keys.

use leaseq::State;

use crate::model::{Entry, Model};

pub(crate) const NOT_LEASED: &str = "not leased before it expired";

/// The options of an item that make a queue extended.
#[derive(Debug, Clone, Default)]
pub(crate) struct More {
    pub(crate) retain: u64,
    pub(crate) unique: Option<Vec<u8>>,
    pub(crate) unique_for: u64,
    pub(crate) replace: bool,
    pub(crate) successor: bool,
    /// When it is due; without it, its delay counts.
    pub(crate) due_at: Option<u64>,
    pub(crate) expires_in: Option<u64>,
    pub(crate) key: Option<Vec<u8>>,
}

/// Who has a unique key, and until when it stays taken in any case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    generation: u64,
    pub(crate) until: u64,
}

/// What a batch of adds has done so far.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    ids: Vec<Vec<u8>>,
    keys: Vec<Vec<u8>>,
    /// The leased items that have got a successor.
    waited_for: Vec<u64>,
}

/// Whether there is room for an item.
pub(crate) enum Room {
    Taken,
    /// Its key is reserved until then.
    Until(u64),
    /// It waits until this item is no longer leased.
    Behind(u64),
}

impl Entry {
    /// It is dead, although perhaps no sweep has found it yet.
    pub(crate) fn has_expired(&self, now: u64) -> bool {
        let waits = [State::Ready, State::Delayed].contains(&self.state);
        waits && self.expires.is_some_and(|at| at <= now)
    }

    /// As `get` shows it.
    pub(crate) fn seen_at(&self, now: u64) -> Entry {
        let mut entry = self.clone();
        if self.has_expired(now) {
            (entry.state, entry.error) = (State::Dead, NOT_LEASED.to_owned());
            entry.at = entry.expires.take().unwrap();
        }
        entry
    }

    /// It is only kept, and the time for which it is has passed.
    pub(crate) fn is_over(&self, now: u64) -> bool {
        self.state.is_retained() && self.at <= now
    }
}

impl Model {
    /// The item with this id. One whose time has passed is not there.
    fn find(&self, id: &[u8]) -> Option<u64> {
        let generation = *self.ids.get(id)?;
        (!self.items[&generation].is_over(self.now)).then_some(generation)
    }

    /// Whether the item has this key, and has not ended.
    fn has(&self, generation: u64, key: Option<&[u8]>) -> bool {
        self.items.get(&generation).is_some_and(|entry| {
            let now = self.now;
            let ended = entry.state == State::Dead || entry.is_over(now) || entry.has_expired(now);
            entry.unique.as_deref() == key && !ended
        })
    }

    fn owner(&self, key: &[u8]) -> Option<Owner> {
        let owner = *self.keys.get(key)?;
        (self.has(owner.generation, Some(key)) || owner.until > self.now).then_some(owner)
    }

    /// When retained items or reserved times are to be deleted: at a whole minute.
    pub(crate) fn next_sweep(&self) -> Option<u64> {
        let kept = self.items.values().filter(|entry| entry.state.is_retained());
        let times = kept.map(|entry| entry.at).chain(self.keys.values().map(|owner| owner.until));
        let times = times.chain(self.items.values().filter_map(|entry| entry.expires));
        let times = times.chain(self.next_too_old());
        let times = times.chain(self.refills.values().map(|refills| refills.div_ceil(1000)));
        times.filter(|at| *at > self.now).min().map(|at| at.div_ceil(60_000) * 60_000)
    }

    /// Makes the items dead that have expired.
    pub(crate) fn sweep_expired(&mut self) {
        let expired = self.items.iter().filter(|(_, entry)| entry.has_expired(self.now));
        let mut expired: Vec<_> = expired.map(|(number, entry)| (entry.expires, *number)).collect();
        expired.sort_unstable();
        for (_, old) in expired {
            let new = self.renumber(old);
            self.die_expired(new);
        }
    }

    /// The item is in no line.
    pub(crate) fn die_expired(&mut self, generation: u64) {
        let entry = self.items.get_mut(&generation).unwrap();
        (entry.state, entry.at, entry.expires) = (State::Dead, self.now, None);
        entry.error = NOT_LEASED.to_owned();
        let key = entry.unique.clone();
        self.release_key(key.as_deref(), generation);
        self.totals[5] += 1;
        self.expired_unleased += 1;
    }

    /// The item has ended.
    pub(crate) fn release_key(&mut self, key: Option<&[u8]>, generation: u64) {
        let Some(key) = key else { return };
        let now = self.now;
        if self.keys.get(key).is_some_and(|o| o.generation == generation && o.until <= now) {
            self.keys.remove(key);
        }
    }

    /// Deletes what an item may replace.
    pub(crate) fn make_room(&mut self, id: &[u8], more: &More, batch: &mut Batch) -> Room {
        if batch.ids.iter().any(|other| other == id) {
            return Room::Taken;
        }
        batch.ids.push(id.to_vec());
        let key = more.unique.as_deref();
        if key.is_some_and(|key| batch.keys.iter().any(|other| other == key)) {
            return Room::Taken;
        }
        let same = self.find(id);
        let owner = key.and_then(|key| self.owner(key));
        let alive = owner.filter(|o| self.has(o.generation, key)).map(|o| o.generation);
        if owner.is_some_and(|o| alive.is_none() && same != Some(o.generation)) {
            return Room::Taken;
        }
        let same = same.or_else(|| self.leased_before(|waiting| waiting.item.id() == id));
        let alive = alive.or_else(|| {
            key.and_then(|key| {
                self.leased_before(|waiting| waiting.more.unique.as_deref() == Some(key))
            })
        });
        if let Some(generation) = same.or(alive) {
            let two = alive.is_some_and(|alive| alive != generation);
            if !more.replace || two {
                return Room::Taken;
            }
            if self.items[&generation].state == State::Leased {
                if !more.successor || batch.waited_for.contains(&generation) {
                    return Room::Taken;
                }
                batch.waited_for.push(generation);
                batch.keys.extend(key.map(<[u8]>::to_vec));
                return Room::Behind(generation);
            }
            self.replaced += 1;
            self.forget(generation);
        }
        if let Some(&over) = self.ids.get(id) {
            self.forget(over);
        }
        batch.keys.extend(key.map(<[u8]>::to_vec));
        let reserved = if more.unique_for > 0 { self.now + more.unique_for } else { 0 };
        Room::Until(owner.map_or(0, |owner| owner.until).max(reserved))
    }

    pub(crate) fn move_key(&mut self, key: Option<&[u8]>, old: u64, new: u64) {
        if let Some(owner) = key.and_then(|key| self.keys.get_mut(key))
            && owner.generation == old
        {
            owner.generation = new;
        }
    }

    pub(crate) fn take_key(&mut self, key: Option<Vec<u8>>, generation: u64, until: u64) {
        if let Some(key) = key {
            self.keys.insert(key, Owner { generation, until });
        }
    }

    /// Whether a dead item can have its key again, which it then has.
    pub(crate) fn take_key_again(&mut self, generation: u64) -> bool {
        let Some(key) = self.items[&generation].unique.clone() else { return true };
        let owner = self.owner(&key);
        let waits = self.leased_before(|waiting| waiting.more.unique.as_ref() == Some(&key));
        if waits.is_some() || owner.is_some_and(|owner| owner.generation != generation) {
            return false;
        }
        self.take_key(Some(key), generation, owner.map_or(0, |owner| owner.until));
        true
    }

    /// Completes an item that has not ended: it is gone, or retained with its result.
    pub(crate) fn end(
        &mut self,
        generation: u64,
        retain: Option<u64>,
        result: Option<Vec<u8>>,
    ) -> bool {
        let settings = self.settings;
        let Some(entry) = self.items.get_mut(&generation) else { return false };
        if entry.state.is_retained() {
            return false;
        }
        let retain = settings.retention(retain.or(Some(entry.retain).filter(|own| *own > 0)));
        if retain == 0 {
            return self.forget(generation);
        }
        let (expired, key) = (entry.has_expired(self.now), entry.unique.clone());
        entry.expires = None;
        // What comes late makes a new generation.
        let late = entry.state != State::Leased;
        if expired {
            self.release_key(key.as_deref(), generation);
        }
        let generation = if late { self.renumber(generation) } else { generation };
        let entry = self.items.get_mut(&generation).unwrap();
        // A dead item has no key any more.
        let has_key = entry.state != State::Dead && !expired;
        entry.unique = entry.unique.take().filter(|_| has_key);
        (entry.state, entry.at) = (State::Completed, self.now + retain);
        entry.progress = None;
        (entry.ended_at, entry.result, entry.marked) = (Some(self.now), result, false);
        self.ready[entry.priority as usize].retain(|other| *other != generation);
        true
    }
}
