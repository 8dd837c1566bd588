//! The waits of a client, by queue.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use super::load::{Load, Share};
use super::state::State;
use crate::name::QueueName;

#[derive(Default)]
pub(crate) struct OutcomeWaits {
    /// The queues with waits. A queue is in it while its task runs. Code that also locks a queue's state locks this
    /// first.
    pub(super) queues: Mutex<HashMap<QueueName, Arc<QueueWaits>>>,
    pub(super) load: Arc<Load>,
}

/// The waits for items of one queue.
pub(crate) struct QueueWaits {
    pub(super) state: Mutex<State>,
    /// There is something new to ask.
    pub(super) changed: Notify,
    /// The engine was asked, so the place is known behind which reports are new.
    pub(super) asked: Notify,
    /// There are results or errors to fetch of items whose ends were reported.
    pub(super) to_fetch: Notify,
    /// Reports are to be read from an earlier place.
    pub(super) rewound: Notify,
}

impl QueueWaits {
    pub(super) fn new(load: &Arc<Load>) -> QueueWaits {
        QueueWaits {
            state: Mutex::new(State::new(Share::of(load))),
            changed: Notify::new(),
            asked: Notify::new(),
            to_fetch: Notify::new(),
            rewound: Notify::new(),
        }
    }
}
