//! The signals that end a worker.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::warn;

use crate::worker_core::Stopper;

/// SIGTERM and SIGINT.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// The first signal begins the end, the second skips the grace period, and the third ends the worker at once.
    pub(super) async fn end(mut self, worker: Stopper, grace: Duration) {
        self.next().await;
        warn!(grace_s = grace.as_secs(), "a signal: the worker ends when its handlers have");
        worker.drain(grace);
        self.next().await;
        warn!("a second signal: handlers are cancelled");
        worker.drain(Duration::ZERO);
        self.next().await;
        warn!("a third signal: the worker ends at once");
        worker.abort();
    }
}
