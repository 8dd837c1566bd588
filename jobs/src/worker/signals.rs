//! The signals that end a worker.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::warn;

use crate::worker_core::Stopper;

/// SIGTERM and SIGINT, or nothing.
pub(super) struct Signals(Option<(Signal, Signal)>);

impl Signals {
    /// Listens to signals, or to nothing.
    pub(super) fn listen(listens: bool) -> std::io::Result<Signals> {
        if !listens {
            return Ok(Signals(None));
        }
        let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
        Ok(Signals(Some((signal(terminate)?, signal(interrupt)?))))
    }

    /// Returns at the next signal.
    pub(super) async fn next(&mut self) {
        match &mut self.0 {
            Some((terminate, interrupt)) => tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            },
            None => std::future::pending().await,
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
