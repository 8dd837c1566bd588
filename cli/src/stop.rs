//! Interruptions: SIGINT, SIGTERM and SIGHUP end a long command between two steps.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    first: CancellationToken,
    second: CancellationToken,
}

impl Stop {
    pub(crate) fn listen() -> std::io::Result<Stop> {
        let stop = Stop::default();
        for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
            let (mut signals, stop) = (signal(kind)?, stop.clone());
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    let is_second = stop.first.is_cancelled();
                    if is_second { stop.second.cancel() } else { stop.first.cancel() }
                }
            });
        }
        Ok(stop)
    }

    /// Whether it was interrupted, now or within this time.
    pub(crate) async fn within(&self, time: Duration) -> bool {
        if !time.is_zero() {
            let _ = tokio::time::timeout(time, self.first.cancelled()).await;
        }
        self.first.is_cancelled()
    }

    /// As the first interruption does.
    pub(crate) fn request(&self) {
        self.first.cancel();
    }

    pub(crate) async fn stopped(&self) {
        self.first.cancelled().await;
    }

    /// Interrupted again, by somebody who does not want to wait.
    pub(crate) async fn forced(&self) {
        self.second.cancelled().await;
    }
}
