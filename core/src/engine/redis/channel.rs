//! What a [`Listener`](super::listener::Listener) shares with the calls that wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::engine::{EndingPlace, Endings};
use crate::lock::lock;
use crate::name::QueueName;

/// One connection and the queues it listens to.
#[derive(Default)]
pub(super) struct Channel {
    waiting: Mutex<HashMap<QueueName, Waiting>>,
    /// Notified when a queue is added, and when the channel is removed.
    pub(super) changed: Notify,
}

/// The channels by queue on a Cluster, else one for all queues. Code that also locks a channel locks
/// this first.
pub(super) type Channels = Mutex<HashMap<Option<QueueName>, Arc<Channel>>>;

/// The calls that wait on one queue.
pub(super) struct Waiting {
    pub(super) count: usize,
    /// The list of tokens, or the stream.
    pub(super) key: Vec<u8>,
    pub(super) notify: Arc<Notify>,
    /// Of a stream: the place behind which to read.
    pub(super) after: EndingPlace,
    /// Of a stream: what was read.
    pub(super) endings: Endings,
}

impl Channel {
    pub(super) fn waiting(&self) -> MutexGuard<'_, HashMap<QueueName, Waiting>> {
        lock(&self.waiting)
    }
}
