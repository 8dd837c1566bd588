//! The boundary: what faces call.

use std::sync::{Arc, Weak};
use std::time::Duration;

use leaseq::{Client, Error, Result};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::beats::Beats;
use super::exit::{Exit, ExitReason};
use super::fetcher::Fetcher;
use super::finish::Finish;
use super::options::WorkerOptions;
use super::phases::supervise;
use super::reason::Reason;
use super::settlement::Settled;
use super::state::{Caller, Phase, Popped, Shared};
use super::task::Task;
use super::throttle::{self, Throttle};
use super::{schedules, shutdown, timers};

/// What [`WorkerCore::next`] returns.
#[derive(Debug)]
pub enum JobStart {
    /// Run this task, and report its end with [`WorkerCore::finish`].
    Start(Task),
    /// The worker has ended; there are no more tasks.
    Drained,
}

/// What a worker does at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// How many jobs may run at the same time.
    pub slots: usize,
    /// How many slots have a job: one that runs, or is being settled.
    pub in_use: usize,
    /// How many jobs wait to be started.
    pub waiting: usize,
    /// How many jobs it has started.
    pub started: u64,
    /// Whether it is told to lease nothing.
    pub quiet: bool,
    /// Whether it leases nothing because memory is short.
    pub throttled: bool,
    /// How often it has been throttled.
    pub throttles: u64,
}

/// Leases jobs for free slots, and sees to leases, timeouts, retries, cancellation and shutdown. Dropping it aborts.
#[derive(Debug)]
pub struct WorkerCore {
    shared: Arc<Shared>,
}

impl Drop for WorkerCore {
    fn drop(&mut self) {
        self.abort();
    }
}

impl WorkerCore {
    /// Starts to lease. Must be called inside a tokio runtime, which then runs the background work.
    ///
    /// # Errors
    /// `Invalid` for an option outside its limits, `Closed` if the client is closed.
    pub fn start(client: &Client, options: WorkerOptions) -> Result<WorkerCore> {
        let capacity = options.slots;
        WorkerCore::start_with(client, options, capacity)
    }

    /// Starts to lease for so many slots; for the others [when they are open](WorkerCore::open_slot).
    pub(crate) fn start_with(
        client: &Client,
        options: WorkerOptions,
        capacity: usize,
    ) -> Result<WorkerCore> {
        let throttle = match &options.throttle {
            Some(throttle) => throttle.clone(),
            None => Throttle::from_env()?,
        };
        throttle.validate()?;
        let shared = Shared::new(options, capacity)?;
        let (fetcher, client) = (Fetcher::new(client, &shared)?, client.clone());
        let schedules = shared.clone();
        supervise(&shared, async move {
            schedules::sync(&schedules, &client).await;
            if schedules.options.listed {
                // A worker that is to be quiet leases nothing at its start either.
                let mut beats = Beats::new(&client, &schedules);
                beats.beat().await;
                tokio::spawn(beats.run());
            } else {
                schedules.left.cancel();
            }
            fetcher.run().await;
        });
        supervise(&shared, timers::run(shared.clone()));
        if throttle.is_needed() {
            supervise(&shared, throttle::run(shared.clone(), throttle));
        }
        Ok(WorkerCore { shared })
    }

    /// Waits for the next job to run, or for the end of the worker. May be called by any number of callers at the same
    /// time. Dropping the future loses nothing.
    pub async fn next(&self) -> JobStart {
        if let Some(next) = self.try_next() {
            return next;
        }
        let _caller = Caller::new(&self.shared);
        loop {
            let started = self.shared.starts.notified();
            match self.shared.pop() {
                Some(Popped::Start(running)) => {
                    return JobStart::Start(Task::new(self.shared.clone(), running));
                }
                Some(Popped::End) => return JobStart::Drained,
                Some(Popped::At(time)) => tokio::select! {
                    () = started => {}
                    () = tokio::time::sleep_until(time.into()) => {}
                },
                None => started.await,
            }
        }
    }

    /// What [`next`](WorkerCore::next) would return without waiting; `None`: it would wait.
    pub fn try_next(&self) -> Option<JobStart> {
        match self.shared.pop()? {
            Popped::Start(running) => {
                Some(JobStart::Start(Task::new(self.shared.clone(), running)))
            }
            Popped::End => Some(JobStart::Drained),
            Popped::At(_) => None,
        }
    }

    /// Reports how a task has ended. This happens at once; the future returns what has become of the job, and may be
    /// dropped. The slot is free for a job of the queue when that has confirmed it, and for one that was leased in advance at
    /// once, if the task has succeeded; or if its lease is lost, because the queue does not answer.
    ///
    /// # Errors
    /// `Invalid` if the task was finished before.
    pub fn finish(
        &self,
        task: &Task,
        finish: Finish,
    ) -> impl Future<Output = Result<Settled>> + Send + use<> {
        task.finish(finish)
    }

    /// The numbers of tasks that are to stop, from now on, and why: for faces that would otherwise wait for
    /// [`Task::cancelled`] of each task. A task may be among them twice, or before [`next`](WorkerCore::next) has returned it,
    /// which [`Task::cancel_reason`] tells. Only the receiver of the first call gets them.
    pub fn stops(&self) -> UnboundedReceiver<(u64, Reason)> {
        let (stops, receiver) = unbounded_channel();
        _ = self.shared.stops.set(stops);
        receiver
    }

    /// Ends the worker in order: it leases nothing more, releases what no handler has started, and lets handlers run
    /// for the grace period. Then it cancels them; after 3 s it gives up those that still run. A second call can
    /// shorten the grace period. [`next`](WorkerCore::next) returns `Drained` at the end.
    pub fn drain(&self, grace: Duration) {
        shutdown::drain(&self.shared, grace, ExitReason::Drained);
    }

    /// Ends the worker at once. Jobs that run are not reported any more: their leases expire when their handlers have
    /// returned or the process has ended.
    pub fn abort(&self) {
        self.shared.abort(ExitReason::Aborted, None);
    }

    /// Ends the worker because of an error that nothing can be done about. Jobs that run are reported.
    pub(crate) fn fail(&self, error: Error) {
        self.shared.lock().error.get_or_insert(error);
        shutdown::drain(&self.shared, Duration::ZERO, ExitReason::Failed);
    }

    /// One slot more can be used.
    pub(crate) fn open_slot(&self) {
        self.shared.open_slot();
    }

    /// One slot less can be used: what would run in it has ended.
    pub(crate) fn close_slot(&self) {
        self.shared.close_slot();
    }

    /// Jobs do not wait here for a slot, unless one is open.
    pub(crate) fn give_back_if_closed(&self) {
        self.shared.give_back_if_closed();
    }

    /// Returns when nothing more is started.
    pub(crate) async fn draining(&self) {
        self.shared.until_phase(Phase::Draining).await;
    }

    /// Waits until the worker has ended, as [`next`](WorkerCore::next) does, and takes no task.
    pub async fn ended(&self) {
        self.shared.until_phase(Phase::Stopped).await;
    }

    /// Returns when the worker is throttled, or when it is not any more.
    pub async fn throttled(&self, throttled: bool) {
        loop {
            let changed = self.shared.changed.notified();
            if self.load().throttled == throttled {
                return;
            }
            changed.await;
        }
    }

    /// Returns when the worker has ended and the registry lists it no longer, or cannot be reached soon.
    pub async fn left(&self) {
        self.shared.left.cancelled().await;
    }

    /// What the worker does now.
    pub fn load(&self) -> Load {
        let state = self.shared.lock();
        Load {
            slots: self.shared.options.slots,
            in_use: state.in_slots,
            waiting: state.ready.len(),
            started: state.started,
            quiet: state.quiet,
            throttled: state.throttled,
            throttles: state.throttles,
        }
    }

    /// How the worker has ended, for the exit status of the process.
    pub fn exit(&self) -> Exit {
        self.shared.exit()
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// A handle that can only end the worker, for signal handlers.
    pub(crate) fn stopper(&self) -> Stopper {
        Stopper(Arc::downgrade(&self.shared))
    }
}

/// Ends a worker, as long as there is one.
#[derive(Debug, Clone)]
pub(crate) struct Stopper(Weak<Shared>);

impl Stopper {
    pub(crate) fn drain(&self, grace: Duration) {
        if let Some(shared) = self.0.upgrade() {
            shutdown::drain(&shared, grace, ExitReason::Drained);
        }
    }

    pub(crate) fn abort(&self) {
        if let Some(shared) = self.0.upgrade() {
            shared.abort(ExitReason::Aborted, None);
        }
    }
}
