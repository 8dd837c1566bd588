//! Notifies calls that wait for an item of changes of their queue, and cleaners of all writes.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::watch;

use crate::lock::lock;
use crate::name::QueueName;

#[derive(Default)]
pub(super) struct ChangeNotifier {
    /// How often each queue has changed.
    queues: Mutex<HashMap<QueueName, watch::Sender<u64>>>,
    /// How many calls wait.
    pub(super) waiting: AtomicUsize,
    /// How often anybody has written, for cleaners: items may be due earlier than they know.
    writes: watch::Sender<u64>,
}

impl ChangeNotifier {
    fn lock(&self) -> MutexGuard<'_, HashMap<QueueName, watch::Sender<u64>>> {
        lock(&self.queues)
    }

    /// This process has changed the queue.
    pub(super) fn changed(&self, queue: &QueueName) {
        if let Some(sender) = self.lock().get(queue) {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// This process has written something.
    pub(super) fn wrote(&self) {
        if self.writes.receiver_count() > 0 {
            self.writes.send_modify(|count| *count += 1);
        }
    }

    /// Another process has changed something.
    pub(super) fn all_changed(&self) {
        self.wrote();
        for sender in self.lock().values() {
            sender.send_modify(|count| *count += 1);
        }
    }

    /// Forgets a queue. Calls that still wait return, and subscribe again.
    pub(super) fn forget(&self, queue: &QueueName) {
        self.lock().remove(queue);
    }

    /// Reports the changes of the queue from now on.
    pub(super) fn subscribe(&self, queue: &QueueName) -> watch::Receiver<u64> {
        let mut queues = self.lock();
        queues.entry(queue.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }
    /// Reports all writes from now on.
    pub(super) fn subscribe_to_writes(&self) -> watch::Receiver<u64> {
        self.writes.subscribe()
    }
}
