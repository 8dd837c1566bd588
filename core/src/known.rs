//! The queues that a client keeps state for: those in use, and for a while those that were in use.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::dispatch::Dispatch;
use crate::name::QueueName;

/// How long a queue without handles is kept after it was last requested, so that it need not be opened again
/// soon.
const KEPT: Duration = Duration::from_secs(60);
/// Limit of the queues without handles.
const MAX_KEPT: usize = 4_096;
/// Fewer queues than this are not searched for unused ones.
const MIN_SEARCHED: usize = 64;

#[derive(Default)]
pub(crate) struct Known {
    queues: HashMap<QueueName, Entry>,
    /// The number of entries that starts the next search for unused queues.
    search_at: usize,
    /// Queues that were forgotten although a handle was left, which can still make calls.
    released: Vec<Weak<Dispatch>>,
}

struct Entry {
    dispatch: Arc<Dispatch>,
    asked: Instant,
}

impl Entry {
    /// There is no handle. Requests in flight have what they need.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.dispatch) == 1
    }
}

impl Known {
    /// The queue of this name, and unused queues that the caller drops after releasing the lock.
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
        let unused = if self.queues.len() >= self.search_at.max(MIN_SEARCHED) {
            self.take_unused(now)
        } else {
            Vec::new()
        };
        let dispatch = make(&name);
        self.queues.insert(name, Entry { dispatch: dispatch.clone(), asked: now });
        (dispatch, unused)
    }

    /// A search takes time in proportion to the entries, so the next one waits until there are half as many more.
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
        self.search_at = self.queues.len() * 3 / 2;
        taken
    }

    /// Forgets a queue that only the caller uses.
    pub(crate) fn release(&mut self, dispatch: &Arc<Dispatch>) -> Option<Arc<Dispatch>> {
        let entry = self.queues.get(&dispatch.queue)?;
        let only = Arc::ptr_eq(&entry.dispatch, dispatch) && Arc::strong_count(dispatch) == 2;
        let entry = if only { self.queues.remove(&dispatch.queue) } else { None }?;
        if self.released.len() == self.released.capacity() {
            self.released.retain(|released| released.strong_count() > 0);
            // The next search waits until there are twice as many.
            self.released.reserve(self.released.len().max(1));
        }
        self.released.push(Arc::downgrade(&entry.dispatch));
        Some(entry.dispatch)
    }

    /// All queues that may have calls, whether they are kept here or not.
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
