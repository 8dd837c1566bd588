//! The leases whose holders are told of a cancellation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::engine::Token;
use crate::lease::Shared;
use crate::lock::lock;
use crate::name::QueueName;

/// The watched leases of a client, by queue. A queue is in it while its task runs.
#[derive(Default)]
pub(crate) struct Watches(pub(crate) Mutex<HashMap<QueueName, Vec<Arc<Watch>>>>);

impl Watches {
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}

pub(crate) struct Watch {
    pub(crate) token: Token,
    pub(crate) shared: Arc<Shared>,
    /// The counter that belongs to the last answer about the lease.
    pub(crate) checked: Mutex<Option<u64>>,
}

impl Watch {
    pub(crate) fn is_checked_at(&self, counter: u64) -> bool {
        // Nobody may extend a lease that its holder has dropped without an end: then only an answer ends the watch.
        *lock(&self.checked) == Some(counter) && !self.shared.remaining().is_zero()
    }
}
