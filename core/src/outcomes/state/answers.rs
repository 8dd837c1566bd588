//! What the engine answers when it is asked about items and groups.

use std::time::{Duration, Instant};

use super::State;
use super::entry::Waiter;
use crate::Error;
use crate::engine::{Awaited, EndingPlace, Found, Outcomes, Subject};
use crate::item::Outcome;

/// When to ask once more about what is gone, if there are earlier reports to read.
const SECOND_LOOK: Duration = Duration::from_millis(20);

impl State {
    /// The engine has answered about the first of these items, for calls up to this one. Returns whether reports are to
    /// be read from an earlier place: the engine has lost some. `read_to`: up to where they had been read when it was
    /// asked.
    pub(in crate::outcomes) fn answered(
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
            self.answered_about(&item.subject, last, place, found, now);
        }
        for item in items.iter().skip(answered) {
            self.schedule(&item.subject, self.is_registered(&item.subject), now);
        }
        rewound
    }

    fn answered_about(
        &mut self,
        subject: &Subject,
        last: u64,
        place: EndingPlace,
        found: Found,
        now: Instant,
    ) {
        let Some(entry) = self.entries.get_mut(subject) else { return };
        let (report, read_to) = (entry.report, self.read_to);
        let (mut second_look, mut asked) = (false, Vec::new());
        for mut waiter in std::mem::take(&mut entry.waiters) {
            if waiter.serial > last {
                entry.waiters.push(waiter);
                continue;
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
            asked.extend(waiter.asked.take());
            entry.waiters.push(waiter);
        }
        if entry.waiters.iter().any(|waiter| waiter.place.is_none()) {
            self.schedule(subject, false, now);
        } else if second_look {
            self.schedule(subject, true, now + SECOND_LOOK);
        } else {
            self.schedule_check(subject, now);
        }
        self.apply_report(subject);
        self.drop_unused(subject);
        // Now whoever has no outcome does not get one from this answer, and may give up.
        for asked in asked {
            let _ = asked.send(());
        }
    }

    /// The engine has not answered. If it may answer later, calls that are registered go on, and it is asked again after
    /// the pause.
    pub(in crate::outcomes) fn failed(
        &mut self,
        items: &[Awaited],
        last: u64,
        error: &Error,
        pause: Duration,
    ) {
        let (now, may_answer) = (Instant::now(), error.kind().is_retryable());
        for item in items {
            let Some(entry) = self.entries.get_mut(&item.subject) else { continue };
            let ends = |waiter: &mut Waiter| {
                waiter.serial <= last && !(may_answer && waiter.place.is_some())
            };
            for waiter in entry.waiters.extract_if(.., ends) {
                let _ = waiter.outcome.send(Err(error.clone()));
            }
            let is_new = entry.waiters.iter().any(|waiter| waiter.serial > last);
            self.schedule(&item.subject, !is_new, if is_new { now } else { now + pause });
            self.drop_unused(&item.subject);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Wake, Waker};

    use bytes::Bytes;
    use tokio::sync::oneshot;

    use super::super::Next;
    use super::*;
    use crate::engine::{Ended, EndingReport, Endings};
    use crate::lock::lock;

    /// Looks for the outcome when it learns that the engine was asked.
    struct Looks {
        outcome: Mutex<oneshot::Receiver<crate::Result<Outcome>>>,
        has_outcome: AtomicBool,
    }

    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            let found = lock(&self.outcome).try_recv().is_ok();
            self.has_outcome.fetch_or(found, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_call_whose_time_is_over_has_the_outcome_before_it_learns_that_the_engine_was_asked() {
        let id = Subject::Item(Bytes::from_static(b"a"));
        let how = Ended::Completed { retained: false };
        let reports = vec![EndingReport { place: EndingPlace(7, 0), subject: id.clone(), how }];
        let reports = Endings { reports, last: Some(EndingPlace(7, 0)), lost: false };
        for (found, endings) in [
            (Found::Ended(Outcome::Cancelled), Endings::default()),
            (Found::Nothing, Endings::default()),
            (Found::Open, reports),
        ] {
            let mut state = State::default();
            let mut call = state.add(&id, false);
            let looks = Arc::new(Looks {
                outcome: Mutex::new(call.outcome),
                has_outcome: AtomicBool::new(false),
            });
            let waker = Waker::from(looks.clone());
            let asked = call.asked.as_mut().expect("nobody has taken it");
            let early = Pin::new(asked).poll(&mut Context::from_waker(&waker));
            assert!(early.is_pending());
            let Next::Ask(items, last) = state.next(Instant::now()) else { panic!("it is new") };
            let (read_to, place) = (Some(EndingPlace(5, 0)), EndingPlace(6, 0));
            state.read_to = read_to;
            let answer = Outcomes { place, found: vec![found.clone()], endings };
            state.answered(&items, last, read_to, answer);
            assert!(looks.has_outcome.load(Ordering::SeqCst), "{found:?}");
        }
    }
}
