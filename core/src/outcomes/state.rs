//! What is known about the items of one queue that calls wait for. Nothing here waits or asks.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::engine::{Awaited, Ended, EndingPlace, Endings, Found, Outcomes};
use crate::item::Outcome;
use crate::options::MAX_BATCH;
use crate::{Error, Result};

/// How often each id is asked about, if there are no more than `MAX_EACH`.
const CHECK_EVERY: Duration = Duration::from_secs(1);
const MAX_EACH: usize = 10_000;
const CHECK_AT_LEAST_EVERY: Duration = Duration::from_secs(30);
/// How much longer a registration lasts than until the second next check.
const MARGIN: Duration = Duration::from_secs(10);
/// When to ask once more about an item that is gone, if there are earlier reports to read.
const SECOND_LOOK: Duration = Duration::from_millis(20);

/// What a wait gets.
pub(super) struct Receivers {
    pub(super) serial: u64,
    /// The engine was asked.
    pub(super) asked: Option<oneshot::Receiver<()>>,
    pub(super) outcome: oneshot::Receiver<Result<Outcome>>,
}

#[derive(Default)]
pub(super) struct State {
    entries: HashMap<Bytes, Entry>,
    /// When each id is asked about next, unless it is in a request.
    timers: BTreeMap<(Instant, u64), Bytes>,
    /// Ids whose reported ends leave more to read.
    reads: VecDeque<Bytes>,
    /// Up to which place reports were read; `None`: the engine was not asked yet.
    read_to: Option<EndingPlace>,
    last_serial: u64,
}

/// An id that calls wait for.
#[derive(Default)]
struct Entry {
    waiters: Vec<Waiter>,
    timer: Option<(Instant, u64)>,
    report: Option<(EndingPlace, Ended)>,
    /// The id is in `reads`, or is being read.
    reading: bool,
}

impl Entry {
    /// Drops a report that was applied, unless it may be about calls whose registration is not answered yet.
    fn drop_report(&mut self) {
        if !self.reading && self.waiters.iter().all(|waiter| waiter.place.is_some()) {
            self.report = None;
        }
    }
}

struct Waiter {
    serial: u64,
    expect: bool,
    /// Reports with later places are about it; `None`: the engine was not asked for it yet.
    place: Option<EndingPlace>,
    /// An answer has shown the item.
    existed: bool,
    /// The item is gone, and reports up to this place may say how: they were not all read yet.
    gone_at: Option<EndingPlace>,
    asked: Option<oneshot::Sender<()>>,
    outcome: oneshot::Sender<Result<Outcome>>,
}

/// What to ask next.
pub(super) enum Next {
    /// About these items. The second is the last call that the answer concerns.
    Ask(Vec<Awaited>, u64),
    Wait(Instant),
    /// No call waits.
    Nothing,
}

impl State {
    /// A call waits for an item.
    pub(super) fn add(&mut self, id: &Bytes, expect: bool) -> Receivers {
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
        self.entries.entry(id.clone()).or_default().waiters.push(waiter);
        // Also if the id is in a request: nobody knows when that is executed.
        self.schedule(id, Instant::now());
        Receivers { serial, asked: Some(was_asked), outcome: outcomes }
    }

    /// The call has ended.
    pub(super) fn remove(&mut self, id: &Bytes, serial: u64) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        entry.waiters.retain(|waiter| waiter.serial != serial);
        self.drop_unused(id);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn next_serial(&mut self) -> u64 {
        self.last_serial += 1;
        self.last_serial
    }

    fn schedule(&mut self, id: &Bytes, at: Instant) {
        let timer = (at, self.next_serial());
        let Some(entry) = self.entries.get_mut(id) else { return };
        if let Some(old) = entry.timer.replace(timer) {
            self.timers.remove(&old);
        }
        self.timers.insert(timer, id.clone());
    }

    fn drop_unused(&mut self, id: &Bytes) {
        if self.entries.get(id).is_some_and(|entry| entry.waiters.is_empty())
            && let Some(entry) = self.entries.remove(id)
            && let Some(timer) = entry.timer
        {
            self.timers.remove(&timer);
        }
    }

    fn period(&self) -> Duration {
        let share = self.entries.len() as f64 / MAX_EACH as f64;
        CHECK_EVERY.mul_f64(share.max(1.0)).min(CHECK_AT_LEAST_EVERY)
    }

    /// How long the next registrations are to last.
    pub(super) fn lasts(&self) -> Duration {
        2 * self.period() + MARGIN
    }

    pub(super) fn next(&mut self, now: Instant) -> Next {
        let mut items = Vec::new();
        while items.len() < MAX_BATCH
            && let Some(first) = self.timers.first_entry()
            && first.key().0 <= now
        {
            let id = first.remove();
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            entry.timer = None;
            let expect = entry.waiters.iter().any(|waiter| waiter.expect);
            items.push(Awaited { id, expect });
        }
        if !items.is_empty() {
            return Next::Ask(items, self.last_serial);
        }
        match self.timers.first_key_value() {
            Some(((at, _), _)) => Next::Wait(*at),
            None => Next::Nothing,
        }
    }

    /// The engine has answered about the first of these items, for calls up to this one. Returns whether reports are to
    /// be read from an earlier place: the engine has lost some. `read_to`: up to where they had been read when it was
    /// asked.
    pub(super) fn answered(
        &mut self,
        items: &[Awaited],
        last: u64,
        read_to: Option<EndingPlace>,
        answer: Outcomes,
    ) -> bool {
        let Outcomes { place, found, endings } = answer;
        let rewound = read_to.is_some_and(|read_to| place < read_to);
        if rewound {
            // Some of what it has now may have earlier places than what was read of what it has lost.
            self.read_to = Some(EndingPlace::default());
        } else if let Some(read_to) = read_to {
            self.reported(endings, read_to);
        } else {
            self.read_to = self.read_to.or(Some(place));
        }
        let (now, answered) = (Instant::now(), found.len());
        for (item, found) in items.iter().zip(found) {
            self.answered_about(&item.id, last, place, found, now);
        }
        for item in items.iter().skip(answered) {
            self.schedule(&item.id, now);
        }
        rewound
    }

    fn answered_about(
        &mut self,
        id: &Bytes,
        last: u64,
        place: EndingPlace,
        found: Found,
        now: Instant,
    ) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let (report, read_to) = (entry.report, self.read_to);
        let mut second_look = false;
        for mut waiter in std::mem::take(&mut entry.waiters) {
            if waiter.serial > last {
                entry.waiters.push(waiter);
                continue;
            }
            if let Some(asked) = waiter.asked.take() {
                let _ = asked.send(());
            }
            match &found {
                Found::Ended(outcome) => {
                    let _ = waiter.outcome.send(Ok(outcome.clone()));
                    continue;
                }
                Found::Open => {
                    waiter.place = Some(place);
                    (waiter.existed, waiter.gone_at) = (true, None);
                }
                Found::Nothing => {
                    let known = waiter.place;
                    // An expected item may have been added and have ended since the call was registered.
                    let registered = known.unwrap_or(place).min(place);
                    waiter.place = Some(registered);
                    let is_reported = report.is_some_and(|(at, _)| at > registered);
                    if (!waiter.expect || waiter.existed) && !is_reported {
                        // The report of an item that was there may not have been read yet.
                        let gone_at = waiter.gone_at.map_or(place, |at| at.min(place));
                        if known.is_none() || read_to >= Some(gone_at) {
                            let _ = waiter.outcome.send(Ok(Outcome::Gone));
                            continue;
                        }
                        waiter.gone_at = Some(gone_at);
                        second_look = true;
                    }
                }
            }
            entry.waiters.push(waiter);
        }
        let at = if entry.waiters.iter().any(|waiter| waiter.place.is_none()) {
            now
        } else if second_look {
            now + SECOND_LOOK
        } else {
            now + self.period()
        };
        self.schedule(id, at);
        self.apply_report(id);
        self.drop_unused(id);
    }

    /// The engine has not answered. If it may answer later, calls that are registered go on, and it is asked again after
    /// the pause.
    pub(super) fn failed(&mut self, items: &[Awaited], last: u64, error: &Error, pause: Duration) {
        let (now, may_answer) = (Instant::now(), error.kind().is_retryable());
        for item in items {
            let Some(entry) = self.entries.get_mut(&item.id) else { continue };
            let ends = |waiter: &mut Waiter| {
                waiter.serial <= last && !(may_answer && waiter.place.is_some())
            };
            for waiter in entry.waiters.extract_if(.., ends) {
                let _ = waiter.outcome.send(Err(error.clone()));
            }
            let is_new = entry.waiters.iter().any(|waiter| waiter.serial > last);
            self.schedule(&item.id, if is_new { now } else { now + pause });
            self.drop_unused(&item.id);
        }
    }

    pub(super) fn read_to(&self) -> Option<EndingPlace> {
        self.read_to
    }

    /// Reports behind this place have come. Returns whether there is more to read of any item.
    pub(super) fn reported(&mut self, endings: Endings, after: EndingPlace) -> bool {
        if endings.lost {
            let ids: Vec<Bytes> = self.timers.values().cloned().collect();
            let now = Instant::now();
            ids.iter().for_each(|id| self.schedule(id, now));
        }
        // Meanwhile it may have become necessary to read from an earlier place.
        if self.read_to >= Some(after) {
            self.read_to = self.read_to.max(endings.last);
        }
        for report in endings.reports {
            // The same one may come again.
            if let Some(entry) = self.entries.get_mut(&report.id)
                && entry.report.is_none_or(|(at, _)| at < report.place)
            {
                entry.report = Some((report.place, report.how));
                self.apply_report(&report.id);
                self.drop_unused(&report.id);
            }
        }
        !self.reads.is_empty()
    }

    /// Ends the calls that a report is about, unless there is more to read first.
    fn apply_report(&mut self, id: &Bytes) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let Some((place, how)) = entry.report else { return };
        let is_meant = |waiter: &Waiter| waiter.place.is_some_and(|at| at < place);
        if entry.waiters.iter().any(is_meant) {
            if how.leaves_more() {
                if !std::mem::replace(&mut entry.reading, true) {
                    self.reads.push_back(id.clone());
                }
                return;
            }
            for waiter in entry.waiters.extract_if(.., |waiter| is_meant(waiter)) {
                let _ = waiter.outcome.send(Ok(how.outcome()));
            }
        }
        entry.drop_report();
    }

    /// Items of which there is more to read.
    pub(super) fn next_reads(&mut self) -> Vec<Bytes> {
        let count = self.reads.len().min(MAX_BATCH);
        self.reads.drain(..count).collect()
    }

    /// The first of these items were read.
    pub(super) fn read(&mut self, ids: &[Bytes], found: Vec<Found>) {
        for id in ids[found.len()..].iter().rev() {
            self.reads.push_front(id.clone());
        }
        for (id, found) in ids.iter().zip(found) {
            let Some(entry) = self.entries.get_mut(id) else { continue };
            entry.reading = false;
            let Some((place, how)) = entry.report else { continue };
            let outcome = match found {
                Found::Ended(outcome) => outcome,
                // It is not retained any more, or was added again.
                Found::Nothing | Found::Open => how.outcome(),
            };
            let is_meant = |waiter: &Waiter| waiter.place.is_some_and(|at| at < place);
            for waiter in entry.waiters.extract_if(.., |waiter| is_meant(waiter)) {
                let _ = waiter.outcome.send(Ok(outcome.clone()));
            }
            entry.drop_report();
            self.drop_unused(id);
        }
    }

    /// Ends all calls.
    pub(super) fn close(&mut self) {
        for waiter in self.entries.drain().flat_map(|(_, entry)| entry.waiters) {
            let _ = waiter.outcome.send(Err(Error::closed()));
        }
        *self = State { last_serial: self.last_serial, ..State::default() };
    }
}
