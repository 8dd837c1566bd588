//! What is known about the items and groups of one queue that calls wait for. Nothing here waits or asks.

mod answers;
mod entry;
mod reports;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::oneshot;

pub(super) use self::entry::Receivers;
use self::entry::{Entry, Timer, Waiter};
use super::load::{CHECK_EVERY, Share};
use crate::Error;
use crate::engine::{Awaited, EndingPlace, Subject};
use crate::options::MAX_BATCH;

/// How much longer a registration lasts than until the second next check.
const MARGIN: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct State {
    entries: HashMap<Subject, Entry>,
    /// When each is asked about next, unless it is in a request.
    timers: BTreeMap<Timer, Subject>,
    /// Ids of items whose reported ends leave a result or an error to fetch.
    to_fetch: VecDeque<Bytes>,
    /// Up to which place reports were read; `None`: the engine was not asked yet.
    read_to: Option<EndingPlace>,
    last_serial: u64,
    share: Share,
    /// How often each is asked about, when the last request was made.
    period: Duration,
    /// No timer has been set for longer, except for shorter pauses.
    longest: Duration,
}

/// What to ask next.
pub(super) enum Next {
    /// About these. The second is the last call that the answer concerns.
    Ask(Vec<Awaited>, u64),
    Wait(Instant),
    /// No call waits.
    Nothing,
}

impl State {
    pub(super) fn new(share: Share) -> State {
        State { share, ..State::default() }
    }

    /// A call waits for an item or a group.
    pub(super) fn add(&mut self, subject: &Subject, expect: bool) -> Receivers {
        let (asked, was_asked) = oneshot::channel();
        let (outcome, outcomes) = oneshot::channel();
        let serial = self.next_serial();
        let waiter = Waiter {
            serial,
            expect,
            place: None,
            existed: false,
            gone_at: None,
            asked: Some(asked),
            outcome,
        };
        self.entries.entry(subject.clone()).or_default().waiters.push(waiter);
        self.share.set(self.entries.len());
        // Also if it is in a request: nobody knows when that is executed.
        self.schedule(subject, false, Instant::now());
        Receivers { serial, asked: Some(was_asked), outcome: outcomes }
    }

    /// The call has ended.
    pub(super) fn remove(&mut self, subject: &Subject, serial: u64) {
        let Some(entry) = self.entries.get_mut(subject) else { return };
        entry.waiters.retain(|waiter| waiter.serial != serial);
        self.drop_unused(subject);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn next_serial(&mut self) -> u64 {
        self.last_serial += 1;
        self.last_serial
    }

    fn schedule(&mut self, subject: &Subject, is_registered: bool, at: Instant) {
        let timer = Timer { is_registered, at, number: self.next_serial() };
        let Some(entry) = self.entries.get_mut(subject) else { return };
        entry.checked = None;
        if let Some(old) = entry.timer.replace(timer) {
            self.timers.remove(&old);
        }
        self.timers.insert(timer, subject.clone());
    }

    /// No call for it still waits for its registration.
    fn is_registered(&self, subject: &Subject) -> bool {
        let entry = self.entries.get(subject);
        entry.is_none_or(|entry| entry.waiters.iter().all(|waiter| waiter.place.is_some()))
    }

    /// What is registered was asked about, and is again after a period.
    fn schedule_check(&mut self, subject: &Subject, now: Instant) {
        self.schedule(subject, true, now + self.period);
        if let Some(entry) = self.entries.get_mut(subject) {
            entry.checked = Some(now);
        }
    }

    /// Sets the period. If timers are far longer, because the client waited for more, they get shorter.
    fn set_period(&mut self, period: Duration) {
        self.period = period;
        if 2 * period > self.longest {
            self.longest = self.longest.max(period);
            return;
        }
        self.longest = period;
        let shorter = |(timer, subject): (&Timer, &Subject)| {
            let at = self.entries.get(subject)?.checked? + period;
            (at < timer.at).then_some((*timer, at))
        };
        let late: Vec<(Timer, Instant)> = self.timers.iter().filter_map(shorter).collect();
        for (timer, at) in late {
            let Some(subject) = self.timers.remove(&timer) else { continue };
            let timer = Timer { at, ..timer };
            if let Some(entry) = self.entries.get_mut(&subject) {
                entry.timer = Some(timer);
                self.timers.insert(timer, subject);
            }
        }
    }

    fn drop_unused(&mut self, subject: &Subject) {
        if self.entries.get(subject).is_some_and(|entry| entry.waiters.is_empty())
            && let Some(entry) = self.entries.remove(subject)
        {
            if let Some(timer) = entry.timer {
                self.timers.remove(&timer);
            }
            self.share.set(self.entries.len());
        }
    }

    /// How long the registrations of the last request are to last.
    pub(super) fn lasts(&self) -> Duration {
        2 * self.period + MARGIN
    }

    /// What to ask next. A request takes along what is due soon, so that the waits of a queue cause few requests,
    /// whenever they began. It never waits for long, because the period gets shorter when other queues have fewer waits.
    pub(super) fn next(&mut self, now: Instant) -> Next {
        let mut items = Vec::new();
        self.set_period(self.share.period());
        while items.len() < MAX_BATCH
            && let Some(first) = self.timers.first_entry()
            && let timer = *first.key()
            && (!timer.is_registered
                || timer.at <= if items.is_empty() { now } else { now + self.period / 2 })
        {
            let subject = first.remove();
            let Some(entry) = self.entries.get_mut(&subject) else { continue };
            entry.timer = None;
            let expect = entry.waiters.iter().any(|waiter| waiter.expect);
            items.push(Awaited { subject, expect });
        }
        if !items.is_empty() {
            return Next::Ask(items, self.last_serial);
        }
        match self.timers.first_key_value() {
            Some((timer, _)) => Next::Wait(timer.at.min(now + CHECK_EVERY)),
            None => Next::Nothing,
        }
    }

    pub(super) fn read_to(&self) -> Option<EndingPlace> {
        self.read_to
    }

    /// Ends all calls.
    pub(super) fn close(&mut self) {
        for waiter in self.entries.drain().flat_map(|(_, entry)| entry.waiters) {
            let _ = waiter.outcome.send(Err(Error::closed()));
        }
        let (last_serial, share) = (self.last_serial, std::mem::take(&mut self.share));
        *self = State { last_serial, ..State::new(share) };
        self.share.set(0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::{Endings, Found, Outcomes};

    #[test]
    fn waits_that_began_at_different_times_share_requests() {
        const WAITS: usize = 500;
        let mut state = State::default();
        let mut now = Instant::now();
        let ids = (0..WAITS).map(|n| Subject::Item(Bytes::from(n.to_string())));
        let calls: Vec<Receivers> = ids.clone().map(|id| state.add(&id, false)).collect();
        for (n, id) in ids.enumerate() {
            state.schedule(&id, true, now + Duration::from_millis(2 * n as u64));
        }
        let (mut requests, end) = (0, now + Duration::from_secs(10));
        while now < end {
            match state.next(now) {
                Next::Ask(items, _) => {
                    requests += 1;
                    for item in items {
                        state.schedule_check(&item.subject, now);
                    }
                }
                Next::Wait(at) => now = at,
                Next::Nothing => panic!("calls wait"),
            }
        }
        assert!((10..=21).contains(&requests), "{requests} requests in 10 periods");
        drop(calls);
    }

    /// The engine has answered that all of these are there.
    fn answer(state: &mut State, items: &[Awaited], last: u64) {
        let found = vec![Found::Open; items.len()];
        let answer = Outcomes { place: EndingPlace(1, 0), found, endings: Endings::default() };
        state.answered(items, last, None, answer);
    }

    #[test]
    fn new_waits_come_first_however_many_are_late() {
        let (mut state, begun) = (State::default(), Instant::now());
        let ids = (0..2 * MAX_BATCH).map(|n| Subject::Item(Bytes::from(n.to_string())));
        let calls: Vec<Receivers> = ids.clone().map(|id| state.add(&id, false)).collect();
        for _ in 0..2 {
            let Next::Ask(items, last) = state.next(Instant::now()) else { panic!("all are new") };
            answer(&mut state, &items, last);
        }
        ids.for_each(|id| state.schedule(&id, true, begun));
        let new = Subject::Item(Bytes::from_static(b"new"));
        let call = state.add(&new, false);
        let Next::Ask(items, _) = state.next(Instant::now()) else { panic!("all are due") };
        assert!(items.len() == MAX_BATCH && items[0].subject == new);
        drop((calls, call));
    }

    #[test]
    fn waits_get_faster_when_other_queues_have_fewer() {
        let load = Arc::default();
        let (mut other, mut state) = (Share::of(&load), State::new(Share::of(&load)));
        other.set(1_000_000);
        let call = state.add(&Subject::Item(Bytes::from_static(b"a")), false);
        let Next::Ask(items, last) = state.next(Instant::now()) else { panic!("it is new") };
        answer(&mut state, &items, last);
        let (second, now) = (Duration::from_secs(1), Instant::now());
        let Next::Wait(at) = state.next(now + 2 * second) else { panic!("it is not due") };
        assert!(at <= now + 3 * second, "the load may change");
        other.set(0);
        assert!(matches!(state.next(now + 2 * second), Next::Ask(..)));
        drop(call);
    }
}
