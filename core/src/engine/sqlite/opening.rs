//! What is needed to open the database, for the first time and again after a fork.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::change_notifier::ChangeNotifier;
use super::files::Identity;
use super::location::Location;
use super::numbers::Numbers;
use crate::clock::Clock;

#[derive(Clone)]
pub(super) struct Opening {
    pub(super) location: Location,
    pub(super) clock: Clock,
    pub(super) timeout: Duration,
    /// Which file it was, if it was open before.
    pub(super) known: Option<Identity>,
    pub(super) numbers: Numbers,
    /// Notified when the end of an item was reported.
    pub(super) endings: Arc<watch::Sender<u64>>,
    /// Notified when a key was opened.
    pub(super) notifier: Arc<ChangeNotifier>,
    /// A connection that only reads, beside one that writes.
    pub(super) read_only: bool,
}

impl Opening {
    pub(super) fn new(location: Location, clock: Clock, timeout: Duration) -> Opening {
        let (known, numbers, read_only) = (None, Numbers::default(), false);
        let endings = Arc::new(watch::Sender::new(0));
        let notifier = Arc::default();
        Opening { location, clock, timeout, known, numbers, endings, notifier, read_only }
    }
}
