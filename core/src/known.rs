//! The queues that a client keeps something for: those in use, and for a while those that were.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::dispatch::Dispatch;
use crate::name::QueueName;

/// How long a queue is kept that nobody holds, after it was last asked for: whoever asks for it again
/// soon need not open it anew.
const KEPT: Duration = Duration::from_secs(60);
/// How many of those are kept at most.
const MAX_KEPT: usize = 4_096;
/// There is nothing to gain by looking among fewer.
const MIN_LOOK: usize = 64;

#[derive(Default)]
pub(crate) struct Known {
    queues: HashMap<QueueName, Entry>,
    /// With so many entries it is looked for queues out of use.
    look_at: usize,
    /// Those forgotten while a handle was left, through which calls may still be made.
    released: Vec<Weak<Dispatch>>,
}

struct Entry {
    dispatch: Arc<Dispatch>,
    asked: Instant,
}

impl Entry {
    /// No handle refers to it. Requests in flight have what they need.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.dispatch) == 1
    }
}

impl Known {
    /// The queue of this name, and those that are not kept any more: to be dropped when nothing is
    /// locked.
    pub(crate) fn get(
        &mut self,
        name: QueueName,
        make: impl FnOnce(&QueueName) -> Arc<Dispatch>,
    ) -> (Arc<Dispatch>, Vec<Arc<Dispatch>>) {
        let now = Instant::now();
        if let Some(entry) = self.queues.get_mut(&name) {
            entry.asked = now;
            return (entry.dispatch.clone(), Vec::new());
        }
        let unused = if self.queues.len() >= self.look_at.max(MIN_LOOK) {
            self.take_unused(now)
        } else {
            Vec::new()
        };
        let dispatch = make(&name);
        self.queues.insert(name, Entry { dispatch: dispatch.clone(), asked: now });
        (dispatch, unused)
    }

    /// Looking costs by the number of entries, and is done again when there are half as many more.
    fn take_unused(&mut self, now: Instant) -> Vec<Arc<Dispatch>> {
        let mut asked: Vec<Instant> =
            self.queues.values().filter(|e| e.is_unused()).map(|e| e.asked).collect();
        asked.sort_unstable();
        let recent = now.checked_sub(KEPT);
        let too_many = asked.len().checked_sub(MAX_KEPT).and_then(|i| asked.get(i).copied());
        let gone = |entry: &Entry| {
            entry.is_unused()
                && (recent.is_some_and(|recent| entry.asked < recent)
                    || too_many.is_some_and(|oldest| entry.asked < oldest))
        };
        let taken = self.queues.extract_if(|_, entry| gone(entry));
        let taken = taken.map(|(_, entry)| entry.dispatch).collect();
        self.look_at = self.queues.len() * 3 / 2;
        taken
    }

    /// Forgets a queue that nobody uses but the caller.
    pub(crate) fn release(&mut self, dispatch: &Arc<Dispatch>) -> Option<Arc<Dispatch>> {
        let entry = self.queues.get(&dispatch.queue)?;
        let only = Arc::ptr_eq(&entry.dispatch, dispatch) && Arc::strong_count(dispatch) == 2;
        let entry = if only { self.queues.remove(&dispatch.queue) } else { None }?;
        if self.released.len() == self.released.capacity() {
            self.released.retain(|released| released.strong_count() > 0);
            // The next look comes when there are twice as many.
            self.released.reserve(self.released.len().max(1));
        }
        self.released.push(Arc::downgrade(&entry.dispatch));
        Some(entry.dispatch)
    }

    /// All that calls may be on their way for, whether they are kept here or not.
    pub(crate) fn in_use(&self) -> Vec<Arc<Dispatch>> {
        let kept = self.queues.values().map(|entry| entry.dispatch.clone());
        kept.chain(self.released.iter().filter_map(Weak::upgrade)).collect()
    }

    pub(crate) fn drain(&mut self) -> Vec<Arc<Dispatch>> {
        self.queues.drain().map(|(_, entry)| entry.dispatch).collect()
    }

    #[cfg(feature = "testing")]
    pub(crate) fn len(&self) -> usize {
        self.queues.len()
    }
}
