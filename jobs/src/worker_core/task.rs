//! A job in a slot, as a face sees it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use leaseq::options::MAX_LEASE;
use leaseq::{Error, Result, Trigger};
use tokio::sync::oneshot;

use super::finish::Finish;
use super::finishing;
use super::reason::Reason;
use super::running::Running;
use super::settlement::Settled;
use super::state::Shared;
use crate::JobError;

/// A job that a face runs. If it is dropped and was not [finished](crate::WorkerCore::finish), the job fails.
pub struct Task {
    shared: Arc<Shared>,
    running: Arc<Running>,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Task({})", self.running)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if self.running.is_open() {
            let error = JobError::new("Dropped", "the handler was dropped before it had ended");
            // It may have been taken over meanwhile.
            _ = self.report(Finish::Failed(error));
        }
    }
}

impl Task {
    pub(super) fn new(shared: Arc<Shared>, running: Arc<Running>) -> Task {
        Task { shared, running }
    }

    /// See [`WorkerCore::finish`](crate::WorkerCore::finish).
    pub(crate) fn finish(
        &self,
        finish: Finish,
    ) -> impl Future<Output = Result<Settled>> + Send + use<> {
        let (reply, answer) = oneshot::channel();
        let accepted = finishing::finish(&self.shared, &self.running, finish, Some(reply));
        async move {
            accepted?;
            // Without an answer the worker was aborted.
            Ok(answer.await.unwrap_or(Settled::Lost))
        }
    }

    /// The same, for callers that do not want to know what becomes of the job.
    pub(crate) fn report(&self, finish: Finish) -> Result<()> {
        finishing::finish(&self.shared, &self.running, finish, None)
    }

    /// Its number in this worker, which [`WorkerCore::stops`](crate::WorkerCore::stops) names.
    pub fn number(&self) -> u64 {
        self.running.id
    }

    /// The name of the job.
    pub fn name(&self) -> &str {
        &self.running.name
    }

    /// The arguments: a JSON object.
    pub fn args(&self) -> &Bytes {
        &self.running.args
    }

    /// What producers have attached to the job, such as a `traceparent`.
    pub fn meta(&self) -> &BTreeMap<String, String> {
        &self.running.meta
    }

    /// The name of its queue.
    pub fn queue(&self) -> &str {
        self.running.lease.queue()
    }

    /// The item's id.
    pub fn id(&self) -> &[u8] {
        self.running.lease.id()
    }

    /// 1 for the first attempt.
    pub fn attempt(&self) -> u32 {
        self.running.lease.attempt()
    }

    /// How many attempts the job has.
    pub fn max_attempts(&self) -> u32 {
        self.running.max_attempts()
    }

    /// The text of the last failure; empty if there was none.
    pub fn last_error(&self) -> &str {
        self.running.lease.last_error()
    }

    /// The job whose end has added this one, with its result; `None`: it was added by a program.
    pub fn trigger(&self) -> Option<&Trigger> {
        self.running.lease.trigger()
    }

    /// The generation of the item, which goes up with every add of its id: a store of your own can refuse writers of
    /// an earlier one. It is the same in all attempts.
    pub fn generation(&self) -> u64 {
        self.running.lease.generation()
    }

    /// For how long the job was ready before its handler started: see [`Lease::waited`](leaseq::Lease::waited).
    pub fn waited(&self) -> Duration {
        self.running.waited()
    }

    /// When the task is cancelled because its time is over.
    pub fn soft_deadline(&self) -> Instant {
        self.running.soft_deadline()
    }

    /// When it is killed.
    pub fn hard_deadline(&self) -> Instant {
        self.soft_deadline() + self.kill_after()
    }

    /// Returns when the lease is lost.
    pub(crate) async fn lost(&self) {
        self.running.until(|running| running.reason() == Some(Reason::Lost)).await;
    }

    /// How long a cancelled handler may go on.
    pub(crate) fn kill_after(&self) -> Duration {
        self.shared.options.kill_after
    }

    /// Returns when the handler is to stop, and why. It should then end with
    /// [`Finish::Cancelled`](crate::Finish::Cancelled); if it succeeds nevertheless, the job is completed.
    pub async fn cancelled(&self) -> Reason {
        loop {
            self.running.until(|running| running.reason().is_some()).await;
            if let Some(reason) = self.running.reason() {
                return reason;
            }
        }
    }

    /// Why the handler is to stop; `None`: it is not.
    pub fn cancel_reason(&self) -> Option<Reason> {
        self.running.reason()
    }

    /// Returns when the handler is to be stopped by force, if that is possible: because it has ignored its timeout or
    /// the end of the worker.
    pub async fn killed(&self) {
        self.running.until(Running::is_killed).await;
    }

    /// Sets the timeout anew: the handler has this much time from now on, at most 30 days.
    ///
    /// # Errors
    /// `Invalid` if the task was finished or cancelled, or for a longer time.
    pub fn more_time(&self, time: Duration) -> Result<()> {
        let running = &self.running;
        if time > MAX_LEASE {
            return Err(Error::invalid(format_args!("{running}: more than 30 days of time")));
        }
        // A timer is set and removed under this lock only.
        let mut state = self.shared.lock();
        let Some((old, new)) = running.set_soft_deadline(Instant::now() + time) else {
            return Err(Error::invalid(format_args!("{running}: its time is over")));
        };
        if let Some(old) = old {
            state.timers.remove(&(old, running.id));
        }
        self.shared.set_timer(&mut state, new, running.id);
        Ok(())
    }

    /// Stores how far the handler has come: up to 1,024 bytes, for whoever looks at the item.
    ///
    /// # Errors
    /// `LeaseLost`; `Invalid` for more bytes.
    pub async fn progress(&self, progress: impl Into<Bytes>) -> Result<()> {
        self.running.queue.set_progress(&self.running.lease, progress).await
    }
}
