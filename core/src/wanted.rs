//! How many items a call that waits is to lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::options::MAX_BATCH;

/// How many items a call of [`lease_wanted`](crate::WorkQueue::lease_wanted) is to lease, which can be changed while it
/// waits. Clones share the number.
#[derive(Debug, Clone, Default)]
pub struct Wanted(Arc<AtomicUsize>);

impl Wanted {
    /// Wants so many items.
    pub fn new(count: usize) -> Self {
        let wanted = Wanted::default();
        wanted.set(count);
        wanted
    }

    /// Wants so many from now on, at most 1,000. Requests that are under way still lease as many as before. With 0 the call
    /// waits on without leasing anything.
    pub fn set(&self, count: usize) {
        self.0.store(count.min(MAX_BATCH), Ordering::Relaxed);
    }

    /// How many it wants.
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
