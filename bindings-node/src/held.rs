//! A lease on its way to JavaScript.

use std::sync::Arc;

use leaseq::{Lease, WorkQueue};

/// A lease, and the queue that releases it if it reaches no caller.
pub(crate) struct Held {
    pub(crate) queue: Arc<WorkQueue>,
    pub(crate) lease: Arc<Lease>,
}

impl Held {
    pub(crate) fn all(queue: &Arc<WorkQueue>, leases: Vec<Lease>) -> Vec<Held> {
        let held = |lease| Held { queue: queue.clone(), lease: Arc::new(lease) };
        leases.into_iter().map(held).collect()
    }
}
