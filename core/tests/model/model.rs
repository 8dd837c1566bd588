//! The contract as a small program: one queue, no storage, no batching, a clock that is told.

use std::collections::{BTreeMap, HashMap, VecDeque};

use leaseq::{EndingKind, State};

use crate::ends::{Batch, More, Owner, Room};
use crate::settings::{Settings, Used};
use crate::successors::Waiting;

/// What proves that a lease is the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Token {
    pub(crate) generation: u64,
    delivery: u64,
}

/// An id, and perhaps the generation that it must have.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) id: Vec<u8>,
    pub(crate) generation: Option<u64>,
}

/// What a revision changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    pub(crate) data: Option<Vec<u8>>,
    pub(crate) priority: Option<u8>,
    pub(crate) delay: Option<u64>,
    pub(crate) max_attempts: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) id: Vec<u8>,
    pub(crate) data: Vec<u8>,
    pub(crate) priority: u8,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) failures: u32,
    pub(crate) expiries: u32,
    pub(crate) error: String,
    pub(crate) endings: Vec<(EndingKind, u64)>,
    /// Reason, count, and the time of the first.
    pub(crate) releases: Option<(String, u32, u64)>,
    pub(crate) added_at: u64,
    pub(crate) progress: Option<Vec<u8>>,
    pub(crate) state: State,
    /// The deadline, the time when it is due, the time of death, or until when it is kept.
    pub(crate) at: u64,
    pub(crate) retain: u64,
    pub(crate) unique: Option<Vec<u8>>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) ended_at: Option<u64>,
    pub(crate) result: Option<Vec<u8>>,
    /// When it is dead if it is not leased.
    pub(crate) expires: Option<u64>,
    /// It is leased, and does not come back when the lease ends.
    pub(crate) marked: bool,
    /// When it became ready.
    since: u64,
    /// A delayed item goes to the front when it is due.
    front: bool,
    delivery: u64,
}

impl Entry {
    fn is_at_limit(&self, default_attempts: Option<u32>) -> bool {
        let most = self.max_attempts.or(default_attempts);
        most.is_some_and(|most| self.failures + self.expiries >= most)
    }

    fn note_ending(&mut self, kind: EndingKind, at: u64) {
        self.endings.push((kind, at));
        let first = self.endings.len().saturating_sub(16);
        self.endings.drain(..first);
        self.releases = None;
    }

    fn note_release(&mut self, reason: &str, at: u64) {
        let before = self.releases.take().filter(|(other, ..)| other == reason);
        let (count, first_at) = before.map_or((0, at), |(_, count, first_at)| (count, first_at));
        self.releases = (!reason.is_empty()).then(|| (reason.to_owned(), count + 1, first_at));
    }
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Light {
    pub(crate) promoted: u64,
    pub(crate) expired: u64,
    pub(crate) died: u64,
    pub(crate) next_in: Option<u64>,
}

#[derive(Default)]
pub(crate) struct Model {
    pub(crate) now: u64,
    /// Until when leasing is paused.
    pub(crate) paused: Option<u64>,
    pub(crate) settings: Settings,
    /// Of the rate.
    pub(crate) used: Used,
    /// Something was added since it was last dropped, or it was paused or configured.
    pub(crate) exists: bool,
    generations: u64,
    pub(crate) items: BTreeMap<u64, Entry>,
    pub(crate) ids: HashMap<Vec<u8>, u64>,
    /// Successors, by the leased items whose places they are to take.
    pub(crate) waiting: BTreeMap<u64, Waiting>,
    /// Owners of unique keys.
    pub(crate) keys: HashMap<Vec<u8>, Owner>,
    pub(crate) key_limits: HashMap<Vec<u8>, u32>,
    /// Until when each key has not refilled, in µs.
    pub(crate) refills: HashMap<Vec<u8>, u64>,
    /// Retained items, of which so many have gone.
    pub(crate) undecided: Option<(Vec<u64>, usize)>,
    pub(crate) replaced: u64,
    pub(crate) expired_unleased: u64,
    pub(crate) cancelled: u64,
    pub(crate) ready: [VecDeque<u64>; 10],
    /// Added, leased, completed, expired, failed, died, removed.
    pub(crate) totals: [u64; 7],
}

impl Model {
    pub(crate) fn new(now: u64) -> Self {
        Model { now, ..Model::default() }
    }

    pub(crate) fn add(
        &mut self,
        item: &leaseq::Item,
        options: (u8, u64, Option<u32>),
        more: &More,
        batch: &mut Batch,
    ) -> bool {
        let room = self.make_room(item.id(), more, batch);
        if matches!(room, Room::Taken) {
            return false;
        }
        self.generations += 1;
        let (generation, added_at, item, more) =
            (self.generations, self.now, item.clone(), more.clone());
        let added = Waiting { generation, added_at, item, options, more };
        match room {
            Room::Behind(leased) => drop(self.waiting.insert(leased, added)),
            Room::Until(until) => self.insert(&added, until),
            Room::Taken => {}
        }
        true
    }

    pub(crate) fn insert(&mut self, added: &Waiting, until: u64) {
        let Waiting { generation, added_at, item, options, more } = added;
        self.exists = true;
        let (priority, delay, max_attempts) = *options;
        let delay = more.due_at.map_or(delay, |at| at.saturating_sub(self.now));
        let entry = Entry {
            id: item.id().to_vec(),
            data: item.data().to_vec(),
            priority,
            max_attempts,
            failures: 0,
            expiries: 0,
            error: String::new(),
            endings: Vec::new(),
            releases: None,
            added_at: *added_at,
            progress: None,
            state: State::Ready,
            at: 0,
            retain: more.retain,
            unique: more.unique.clone(),
            key: more.key.clone(),
            ended_at: None,
            result: None,
            expires: more.expires_in.map(|time| self.now + time),
            marked: false,
            since: self.now,
            front: false,
            delivery: 0,
        };
        self.ids.insert(entry.id.clone(), *generation);
        self.items.insert(*generation, entry);
        self.take_key(more.unique.clone(), *generation, until);
        self.totals[0] += 1;
        self.come_back(*generation, false, delay);
    }

    /// To the front or the back of its priority, at once or after a delay.
    fn come_back(&mut self, generation: u64, front: bool, delay: u64) {
        let entry = self.items.get_mut(&generation).unwrap();
        entry.front = front;
        if delay > 0 {
            (entry.state, entry.at, entry.since) =
                (State::Delayed, self.now + delay, self.now + delay);
            return;
        }
        entry.state = State::Ready;
        let line = &mut self.ready[entry.priority as usize];
        if front { line.push_front(generation) } else { line.push_back(generation) }
    }

    /// Those of a state whose time has come, or all; by time.
    pub(crate) fn by_time(&self, state: State, until: u64) -> Vec<u64> {
        let mut found: Vec<(u64, u64)> = self
            .items
            .iter()
            .filter(|(_, entry)| entry.state == state && entry.at <= until)
            .map(|(generation, entry)| (entry.at, *generation))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, generation)| generation).collect()
    }

    pub(crate) fn light_clean(&mut self) -> Light {
        let mut light = Light::default();
        // The first of them is leased first.
        let mut to_the_front = Vec::new();
        let default_attempts = self.settings.max_attempts;
        let expired = self.by_time(State::Leased, self.now);
        for generation in expired.iter().copied() {
            let entry = self.items.get_mut(&generation).unwrap();
            entry.expiries += 1;
            entry.expires = None;
            entry.delivery += 1;
            entry.note_ending(EndingKind::Expired, self.now);
            light.expired += 1;
            if entry.marked {
                self.end_cancelled(generation);
            } else if entry.is_at_limit(default_attempts) {
                (entry.state, entry.at) = (State::Dead, self.now);
                light.died += 1;
                let key = entry.unique.clone();
                self.release_key(key.as_deref(), generation);
            } else {
                to_the_front.push(generation);
            }
        }
        for generation in self.by_time(State::Delayed, self.now) {
            light.promoted += 1;
            if self.items[&generation].front {
                to_the_front.push(generation);
            } else {
                self.come_back(generation, false, 0);
            }
        }
        for generation in to_the_front.into_iter().rev() {
            self.come_back(generation, true, 0);
        }
        self.follow(expired);
        self.totals[3] += light.expired;
        self.totals[5] += light.died;
        self.sweep_expired();
        self.sweep_by_settings();
        let timed = |entry: &&Entry| [State::Leased, State::Delayed].contains(&entry.state);
        let next = self.items.values().filter(timed).map(|entry| entry.at);
        let next = next.chain(self.next_sweep()).min();
        light.next_in = next.map(|at| at - self.now);
        light
    }

    pub(crate) fn lease(&mut self, count: usize, duration: u64) -> Vec<(Token, Entry)> {
        self.light_clean();
        let mut leased = Vec::new();
        let count = count.min(self.allowed());
        while leased.len() < count && !self.is_paused() {
            let Some(generation) = self.ready.iter().rev().flatten().next().copied() else {
                break;
            };
            leased.push(self.lease_one(generation, duration));
        }
        self.use_up(leased.len());
        self.totals[1] += leased.len() as u64;
        leased
    }

    pub(crate) fn lease_one(&mut self, generation: u64, duration: u64) -> (Token, Entry) {
        let entry = self.items.get_mut(&generation).unwrap();
        self.ready[entry.priority as usize].retain(|other| *other != generation);
        (entry.state, entry.at) = (State::Leased, self.now + duration);
        (Token { generation, delivery: entry.delivery }, entry.clone())
    }

    /// The item, if the lease is the current one.
    fn current(&mut self, token: Token) -> Option<&mut Entry> {
        let entry = self.items.get_mut(&token.generation)?;
        (entry.state == State::Leased && entry.delivery == token.delivery).then_some(entry)
    }

    pub(crate) fn forget(&mut self, generation: u64) -> bool {
        let Some(entry) = self.items.remove(&generation) else { return false };
        self.release_key(entry.unique.as_deref(), generation);
        self.ids.remove(&entry.id);
        self.ready[entry.priority as usize].retain(|other| *other != generation);
        true
    }

    pub(crate) fn complete(
        &mut self,
        token: Token,
        strict: bool,
        retain: Option<u64>,
        result: Option<Vec<u8>>,
    ) -> bool {
        let done = (!strict || self.current(token).is_some())
            && self.end(token.generation, retain, result);
        self.totals[2] += u64::from(done);
        done
    }

    pub(crate) fn extend(&mut self, token: Token, duration: u64) -> Option<u64> {
        let deadline = self.now + duration;
        let entry = self.current(token)?;
        entry.at = entry.at.max(deadline);
        Some(entry.at)
    }

    pub(crate) fn set_progress(&mut self, token: Token, value: Vec<u8>) -> bool {
        let entry = self.current(token);
        entry.map(|entry| entry.progress = Some(value)).is_some()
    }

    /// A batch goes to the front as a whole, in its order. Marked items end.
    pub(crate) fn release(&mut self, tokens: &[Token], delay: u64, reason: &str) -> Vec<bool> {
        let now = self.now;
        let mut given_back = Vec::new();
        let answers = tokens.iter().map(|token| {
            let Some(entry) = self.current(*token) else { return false };
            entry.delivery += 1;
            entry.note_release(reason, now);
            given_back.push(token.generation);
            true
        });
        let answers = answers.collect();
        for generation in given_back.iter().copied().rev() {
            if self.items[&generation].marked {
                self.end_cancelled(generation);
            } else if self.items[&generation].expires.is_some_and(|at| at <= now) {
                self.die_expired(generation);
            } else {
                self.come_back(generation, true, delay);
            }
        }
        self.follow(given_back);
        answers
    }

    pub(crate) fn fail(
        &mut self,
        token: Token,
        error: &str,
        delay: u64,
        dead: bool,
    ) -> Option<State> {
        let (now, default_attempts) = (self.now, self.settings.max_attempts);
        let entry = self.current(token)?;
        entry.delivery += 1;
        entry.failures += 1;
        entry.expires = None;
        entry.since = now + delay;
        entry.error = error.to_owned();
        entry.note_ending(EndingKind::Failed, now);
        let marked = entry.marked;
        let dies = dead || entry.is_at_limit(default_attempts);
        self.totals[4] += 1;
        if marked {
            self.end_cancelled(token.generation);
            return Some(State::Cancelled);
        }
        let entry = self.items.get_mut(&token.generation)?;
        if dies {
            (entry.state, entry.at) = (State::Dead, now);
            let key = entry.unique.clone();
            self.release_key(key.as_deref(), token.generation);
        } else {
            self.come_back(token.generation, false, delay);
        }
        self.totals[5] += u64::from(dies);
        Some(self.items[&token.generation].state)
    }

    /// The item that an operator names.
    pub(crate) fn named(&self, target: &Target) -> Option<u64> {
        let generation = self.ids.get(&target.id).copied()?;
        target.generation.is_none_or(|wanted| wanted == generation).then_some(generation)
    }

    pub(crate) fn remove(&mut self, target: &Target) -> bool {
        let Some(generation) = self.named(target) else { return false };
        let removed = !self.items[&generation].is_over(self.now);
        self.forget(generation);
        self.waiting.remove(&generation);
        self.totals[6] += u64::from(removed);
        removed
    }

    pub(crate) fn requeue(&mut self, target: &Target) -> bool {
        let Some(generation) = self.named(target) else { return false };
        let entry = &self.items[&generation];
        let (state, expired) = (entry.state, entry.has_expired(self.now));
        let dead = (state == State::Dead || expired) && self.take_key_again(generation);
        if dead {
            let entry = self.items.get_mut(&generation).unwrap();
            (entry.failures, entry.expiries, entry.since) = (0, 0, self.now);
            (entry.releases, entry.expires) = (None, None);
            // Without a sweep, a ready item has kept its place.
            if state != State::Ready {
                self.come_back(generation, false, 0);
            }
        }
        dead
    }

    /// The item becomes a new generation. If it was ready, it stands in no line.
    pub(crate) fn renumber(&mut self, old: u64) -> u64 {
        let mut entry = self.items.remove(&old).unwrap();
        self.ready[entry.priority as usize].retain(|other| *other != old);
        entry.delivery = 0;
        self.generations += 1;
        self.ids.insert(entry.id.clone(), self.generations);
        self.move_key(entry.unique.as_deref(), old, self.generations);
        self.items.insert(self.generations, entry);
        self.generations
    }

    pub(crate) fn bury(&mut self, target: &Target, error: &str) -> bool {
        let Some(old) = self.named(target) else { return false };
        let state = self.items[&old].state;
        let expired = self.items[&old].has_expired(self.now);
        if [State::Leased, State::Dead].contains(&state) || state.is_retained() || expired {
            return false;
        }
        let new = self.renumber(old);
        let entry = self.items.get_mut(&new).unwrap();
        entry.expires = None;
        (entry.state, entry.at, entry.error) = (State::Dead, self.now, error.to_owned());
        let key = entry.unique.clone();
        self.release_key(key.as_deref(), new);
        self.totals[5] += 1;
        true
    }

    pub(crate) fn revise(&mut self, target: &Target, change: &Change) -> bool {
        let Some(old) = self.named(target) else { return false };
        let state = self.items[&old].state;
        let refused = state == State::Leased || state.is_retained();
        let dead = state == State::Dead || self.items[&old].has_expired(self.now);
        if refused || (dead && change.delay.is_some()) {
            return false;
        }
        let new = self.renumber(old);
        let entry = self.items.get_mut(&new).unwrap();
        entry.data = change.data.clone().unwrap_or(std::mem::take(&mut entry.data));
        entry.priority = change.priority.unwrap_or(entry.priority);
        entry.max_attempts = change.max_attempts.or(entry.max_attempts);
        if change.delay.is_some() || state == State::Ready {
            entry.since = self.now;
            self.come_back(new, false, change.delay.unwrap_or(0));
        }
        true
    }

    pub(crate) fn purge(&mut self, state: State) -> u64 {
        let all = self.list(state);
        self.purge_these(all)
    }

    pub(crate) fn purge_these(&mut self, all: Vec<u64>) -> u64 {
        for generation in &all {
            self.forget(*generation);
            self.waiting.remove(generation);
        }
        self.totals[6] += all.len() as u64;
        all.len() as u64
    }

    /// Only the time goes on, and generations, since none is ever named again.
    pub(crate) fn drop_queue(&mut self) -> bool {
        let fresh = Model { now: self.now, generations: self.generations, ..Model::default() };
        std::mem::replace(self, fresh).exists
    }

    pub(crate) fn get(&self, id: &[u8]) -> Option<(u64, Entry)> {
        let generation = *self.ids.get(id)?;
        let entry = &self.items[&generation];
        (!entry.is_over(self.now)).then(|| (generation, entry.seen_at(self.now)))
    }

    pub(crate) fn list(&self, state: State) -> Vec<u64> {
        match state {
            State::Ready => self.ready.iter().rev().flatten().copied().collect(),
            _ => {
                let all = self.by_time(state, u64::MAX).into_iter();
                all.filter(|generation| !self.items[generation].is_over(self.now)).collect()
            }
        }
    }

    pub(crate) fn oldest_ready(&self) -> Option<u64> {
        let since = self.ready.iter().flatten().map(|generation| self.items[generation].since);
        since.min().map(|since| self.now - since)
    }
}
