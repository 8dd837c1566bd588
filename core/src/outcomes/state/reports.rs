//! Reports of ends, and the results and errors that ends leave.

use std::time::Instant;

use bytes::Bytes;

use super::State;
use super::entry::Waiter;
use crate::engine::{EndingPlace, Endings, Found, Subject};
use crate::options::MAX_BATCH;

impl State {
    /// Reports behind this place have come. Returns whether there is a result or an error to fetch of any item. If some
    /// reports were lost, all are to be asked about at once.
    pub(in crate::outcomes) fn reported(&mut self, endings: Endings, after: EndingPlace) -> bool {
        if endings.lost {
            let now = Instant::now();
            for (timer, subject) in std::mem::take(&mut self.timers) {
                self.schedule(&subject, timer.is_registered, now);
            }
        }
        // Meanwhile it may have become necessary to read from an earlier place.
        if self.read_to >= Some(after) {
            self.read_to = self.read_to.max(endings.last);
        }
        for report in endings.reports {
            // The same one may come again.
            if let Some(entry) = self.entries.get_mut(&report.subject)
                && entry.report.is_none_or(|(at, _)| at < report.place)
            {
                entry.report = Some((report.place, report.how));
                self.apply_report(&report.subject);
                self.drop_unused(&report.subject);
            }
        }
        !self.to_fetch.is_empty()
    }

    /// Ends the calls that a report is about, unless there is a result or an error to fetch first.
    pub(super) fn apply_report(&mut self, subject: &Subject) {
        let Some(entry) = self.entries.get_mut(subject) else { return };
        let Some((place, how)) = entry.report else { return };
        let is_meant = |waiter: &Waiter| waiter.place.is_some_and(|at| at < place);
        if entry.waiters.iter().any(is_meant) {
            if let (true, Subject::Item(id)) = (how.leaves_more(), subject) {
                if !std::mem::replace(&mut entry.is_fetching, true) {
                    self.to_fetch.push_back(id.clone());
                }
                return;
            }
            for waiter in entry.waiters.extract_if(.., |waiter| is_meant(waiter)) {
                let _ = waiter.outcome.send(Ok(how.outcome()));
            }
        }
        entry.drop_report();
    }

    /// Items whose results or errors are to be fetched.
    pub(in crate::outcomes) fn next_to_fetch(&mut self) -> Vec<Bytes> {
        let count = self.to_fetch.len().min(MAX_BATCH);
        self.to_fetch.drain(..count).collect()
    }

    /// The first of these items were fetched.
    pub(in crate::outcomes) fn fetched(&mut self, ids: &[Bytes], found: Vec<Found>) {
        for id in ids[found.len()..].iter().rev() {
            self.to_fetch.push_front(id.clone());
        }
        for (id, found) in ids.iter().zip(found) {
            let subject = Subject::Item(id.clone());
            let Some(entry) = self.entries.get_mut(&subject) else { continue };
            entry.is_fetching = false;
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
            self.drop_unused(&subject);
        }
    }
}
