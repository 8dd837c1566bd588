//! What all operations of a client share: the connections, and the keys of the queues.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use redis::{Cmd, Value};

use super::connection_manager::ConnectionManager;
use super::keys::Keys;
use crate::Result;
use crate::lock::lock;
use crate::name::QueueName;

pub(super) struct Context {
    pub(super) manager: Arc<ConnectionManager>,
    pub(super) namespace: String,
    pub(super) timeout: Duration,
    keys: Mutex<HashMap<QueueName, Arc<Keys>>>,
}

impl Context {
    pub(super) fn new(
        manager: Arc<ConnectionManager>,
        namespace: String,
        timeout: Duration,
    ) -> Self {
        Context { manager, namespace, timeout, keys: Mutex::default() }
    }

    pub(super) fn keys(&self, queue: &QueueName) -> Arc<Keys> {
        let new = || Arc::new(Keys::new(&self.namespace, queue));
        self.lock().entry(queue.clone()).or_insert_with(new).clone()
    }

    /// Discards what is known about the queue.
    pub(super) fn forget(&self, queue: &QueueName) {
        self.lock().remove(queue);
    }

    /// Runs a command on the queue's server, for operations without a request id.
    pub(super) async fn command(&self, queue: &QueueName, command: Cmd) -> Result<Value> {
        self.manager.command(queue, self.until(), command).await
    }

    /// When operations without a request id stop retrying.
    pub(super) fn until(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// When steps stop retrying that an operation can do without: time is left for the operation.
    pub(super) fn briefly(&self) -> Instant {
        Instant::now() + (self.timeout / 4).min(Duration::from_secs(1))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QueueName, Arc<Keys>>> {
        lock(&self.keys)
    }
}
