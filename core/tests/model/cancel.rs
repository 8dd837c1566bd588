//! Cancelling items.

use leaseq::{State, WorkQueue};

use crate::driver::Driver;
use crate::model::{Model, Target};

impl Model {
    pub(crate) fn cancel(&mut self, target: &Target) -> bool {
        let Some(generation) = self.named(target) else { return false };
        let entry = self.items.get_mut(&generation).unwrap();
        match entry.state {
            State::Leased => {
                entry.marked = true;
                self.waiting.remove(&generation);
            }
            State::Ready | State::Delayed if entry.expires.is_some_and(|at| at <= self.now) => {
                return false;
            }
            State::Ready | State::Delayed => {
                // What is retained is another generation.
                let retained = self.settings.retention_of(entry) > 0;
                let new = if retained { self.renumber(generation) } else { generation };
                self.end_cancelled(new);
            }
            _ => return false,
        }
        true
    }

    /// The item is gone, or retained.
    pub(crate) fn end_cancelled(&mut self, generation: u64) {
        self.cancelled += 1;
        let now = self.now;
        let entry = self.items.get_mut(&generation).unwrap();
        let retain = self.settings.retention_of(entry);
        if retain == 0 {
            self.forget(generation);
            return;
        }
        (entry.state, entry.at, entry.marked) = (State::Cancelled, now + retain, false);
        (entry.ended_at, entry.result, entry.expires) = (Some(now), None, None);
    }
}

impl Driver<'_> {
    pub(crate) async fn cancel(&mut self, queue: &WorkQueue) {
        let (items, targets): (Vec<_>, Vec<_>) = self.some_targets().into_iter().unzip();
        self.note(format!("cancel {targets:?}"));
        let expected: Vec<bool> = targets.iter().map(|one| self.model.cancel(one)).collect();
        assert_eq!(queue.cancel_many(items).await.unwrap(), expected);
    }
}
