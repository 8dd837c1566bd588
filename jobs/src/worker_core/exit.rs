//! How a worker has ended.

use leaseq::Error;

/// Why a worker has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitReason {
    /// It was asked to.
    Drained,
    /// It was a burst, and there was nothing more to lease.
    Idle,
    /// It has started as many jobs as it may.
    MaxJobs,
    /// Too many handlers did not return although they were killed, or one did not for too long. A supervisor starts a
    /// new worker.
    Hung,
    /// It was aborted.
    Aborted,
    /// The client was closed, or refuses the worker.
    Failed,
}

/// How a worker has ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Exit {
    /// Why.
    pub reason: ExitReason,
    /// How many jobs it has started.
    pub started: u64,
    /// How many handlers still ran when it ended.
    pub running: usize,
    /// Whether the jobs of handlers that did not stop were released or failed: the process must end at once.
    pub gave_up: bool,
    /// What has made it fail.
    pub error: Option<Error>,
}

impl Exit {
    /// It was asked to end before it had started anything.
    pub(crate) fn before_start() -> Exit {
        let reason = ExitReason::Drained;
        Exit { reason, started: 0, running: 0, gave_up: false, error: None }
    }

    /// Whether nobody waits for what is still under way.
    pub(crate) fn is_aborted(&self) -> bool {
        matches!(self.reason, ExitReason::Aborted | ExitReason::Failed)
    }

    /// The exit status for the process: 0, or 3 if a burst found nothing to do, or 1 if something is wrong.
    pub fn status(&self) -> u8 {
        match self.reason {
            ExitReason::Idle if self.started == 0 => 3,
            ExitReason::Drained | ExitReason::Idle | ExitReason::MaxJobs => 0,
            ExitReason::Hung | ExitReason::Aborted | ExitReason::Failed => 1,
        }
    }
}
