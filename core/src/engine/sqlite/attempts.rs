//! What is known of the last attempts to lease.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::sync::watch;

use crate::lock::lock;
use crate::name::QueueName;

/// The last attempt on each queue.
#[derive(Default)]
pub(super) struct Attempts(Mutex<HashMap<QueueName, Attempt>>);

struct Attempt {
    /// Has seen the changes of the queue before the attempt.
    changes: watch::Receiver<u64>,
    /// There were fewer items than wanted.
    fell_short: bool,
}

impl Attempts {
    /// An attempt begins. `changes`: notified of changes of the queue from now on. Returns whether the previous
    /// attempt fell short; `None` if there was none.
    pub(super) fn begin(&self, queue: &QueueName, changes: watch::Receiver<u64>) -> Option<bool> {
        let attempt = Attempt { changes, fell_short: false };
        lock(&self.0).insert(queue.clone(), attempt).map(|previous| previous.fell_short)
    }

    pub(super) fn fell_short(&self, queue: &QueueName) {
        if let Some(attempt) = lock(&self.0).get_mut(queue) {
            attempt.fell_short = true;
        }
    }

    /// The changes since the last attempt.
    pub(super) fn changes(&self, queue: &QueueName) -> Option<watch::Receiver<u64>> {
        lock(&self.0).get(queue).map(|attempt| attempt.changes.clone())
    }

    pub(super) fn forget(&self, queue: &QueueName) {
        lock(&self.0).remove(queue);
    }
}
