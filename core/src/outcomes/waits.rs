//! The waits of a client, by queue.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use super::state::State;
use crate::name::QueueName;

/// The queues with waits. A queue is in it while its task runs. Code that also locks a queue's state locks this first.
#[derive(Default)]
pub(crate) struct OutcomeWaits(pub(super) Mutex<HashMap<QueueName, Arc<QueueWaits>>>);

/// The waits for items of one queue.
#[derive(Default)]
pub(crate) struct QueueWaits {
    pub(super) state: Mutex<State>,
    /// There is something new to ask.
    pub(super) changed: Notify,
    /// The engine was asked, so the place is known behind which reports are new.
    pub(super) asked: Notify,
    /// There is more to read of items whose ends were reported.
    pub(super) reads: Notify,
    /// Reports are to be read from an earlier place.
    pub(super) rewound: Notify,
}
