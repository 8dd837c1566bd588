//! State shared by the cleaning tasks.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use leaseq::{Client, Error, ErrorKind};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::overview::Overview;
use crate::state::Place;

/// State shared by all tasks of one configuration.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) settings: Arc<Settings>,
    pub(crate) overview: Arc<Overview>,
    /// Number of queues.
    pub(crate) count: Arc<AtomicUsize>,
    pub(crate) listeners: Arc<Semaphore>,
}

impl Shared {
    /// Records and logs an error, unless it comes from the shutdown.
    pub(crate) fn fails(&self, place: &Place, error: &Error) {
        if error.kind() != ErrorKind::Closed {
            self.overview.fails(place, error);
        }
    }
}

/// Pauses, at most until `stop` is cancelled.
pub(crate) async fn pause(time: Duration, stop: &CancellationToken) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = stop.cancelled() => {}
    }
}
