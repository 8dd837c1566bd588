//! Changes of queues, for those that wait for an item.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::name::QueueName;

/// How often each queue has changed, for those that wait.
#[derive(Default)]
pub(super) struct ChangeNotifier {
    queues: Mutex<HashMap<QueueName, watch::Sender<u64>>>,
    pub(super) waiting: AtomicUsize,
}

impl ChangeNotifier {
    fn lock(&self) -> MutexGuard<'_, HashMap<QueueName, watch::Sender<u64>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This process has changed the queue.
    pub(super) fn changed(&self, queue: &QueueName) {
        if let Some(sender) = self.lock().get(queue) {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// Another process has changed something.
    pub(super) fn all_changed(&self) {
        for sender in self.lock().values() {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// Nobody waits any more; who does all the same looks again, and subscribes anew.
    pub(super) fn forget(&self, queue: &QueueName) {
        self.lock().remove(queue);
    }

    /// What the queue's count is before looking at it.
    pub(super) fn subscribe(&self, queue: &QueueName) -> watch::Receiver<u64> {
        let mut queues = self.lock();
        queues.entry(queue.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }
}
