//! What calls wait for, and where.

use std::time::Duration;

use super::keys::Keys;

/// What a call waits for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Notification {
    /// Something may be ready.
    Ready,
    /// Something is due or expires earlier than a cleaner knows.
    Due,
    /// An item has ended that somebody waits for.
    Ended,
}

impl Notification {
    /// How long one blocking command lasts. Cleaners listen to all queues, on a Cluster with a
    /// connection for each, so their commands last longer.
    pub(super) fn block(self) -> Duration {
        match self {
            Notification::Ready | Notification::Ended => Duration::from_secs(5),
            Notification::Due => Duration::from_secs(30),
        }
    }

    pub(super) fn key(self, keys: &Keys) -> Vec<u8> {
        match self {
            Notification::Ready => keys.wake().to_vec(),
            Notification::Due => keys.due().to_vec(),
            Notification::Ended => keys.endings().to_vec(),
        }
    }
}
