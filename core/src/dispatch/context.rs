//! What all queues of a client share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::lane::LaneNames;
use super::poll_turns::PollTurns;
use crate::backoff::Backoff;
use crate::engine::Engine;
use crate::fork;
use crate::keep_alive::KeepAlives;
use crate::outcomes::waits::OutcomeWaits;
use crate::watches::Watches;
use crate::{Error, Result};

/// The longest pause between attempts of background work.
const MAX_PAUSE: Duration = Duration::from_millis(500);

pub(crate) struct Context {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) runtime: Handle,
    pub(crate) tasks: TaskTracker,
    pub(crate) closed: CancellationToken,
    pub(crate) timeout: Duration,
    pub(crate) max_data: usize,
    pub(crate) lane_names: LaneNames,
    /// Bounds how many queues are retired at the same time.
    pub(crate) retiring: Semaphore,
    /// Held while a large group of callers gets its replies.
    pub(crate) reply_lock: tokio::sync::Mutex<()>,
    /// Of the queues with calls that wait for an item.
    pub(crate) poll_turns: Arc<PollTurns>,
    /// The leases whose holders are told of a cancellation.
    pub(crate) watches: Watches,
    /// The leases that are extended in the background.
    pub(crate) keep_alives: KeepAlives,
    /// The items whose ends calls wait for.
    pub(crate) outcome_waits: OutcomeWaits,
    /// Of the process that began to connect: [`fork::depth`].
    pub(crate) fork_depth: u32,
}

impl Context {
    /// False in a child, where a lock that a thread of its parent held is never released: to be asked before anything
    /// that locks, and nothing may be dropped there.
    pub(crate) fn is_here(&self) -> bool {
        self.fork_depth == fork::depth()
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        if !self.is_here() {
            return Err(Error::of_parent());
        }
        if self.closed.is_cancelled() { Err(Error::closed()) } else { Ok(()) }
    }

    /// Runs a task to its end, even if the caller is dropped. `close` waits for it.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn_on(task, &self.runtime);
    }

    pub(crate) fn until(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// The pauses between attempts of background work.
    pub(crate) fn backoff(&self) -> Backoff {
        Backoff::up_to(MAX_PAUSE)
    }

    /// Pauses before background work is retried. The engine has retried for as long as it retries a
    /// call, or has failed at once.
    pub(crate) async fn pause(&self, backoff: &mut Backoff) {
        tokio::select! {
            () = tokio::time::sleep(backoff.pause()) => {}
            () = self.closed.cancelled() => {}
        }
    }
}
