//! Running a worker.

use std::future::{pending, poll_fn};
use std::io::Write;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use leaseq::{Error, Result};
use tokio_util::task::TaskTracker;
use tracing::{error, info};

use super::event::Event;
use super::face::Face;
use super::in_children::{self, Slot};
#[cfg(feature = "metrics")]
use super::metrics;
use super::signals::Signals;
use super::{Worker, child_worker};
use crate::{Exit, JobStart, QueueOptions, Task, WorkerCore, WorkerOptions};

/// How long the client may take to finish its requests when the process ends.
const CLOSING: Duration = Duration::from_millis(300);

impl Worker {
    /// Runs until SIGTERM or SIGINT, and returns when the handlers have ended: at the latest about 3 s after the [grace
    /// period](Worker::grace). A second signal skips the grace period, a third ends the worker at once. Also ends by
    /// itself if it is a [burst](Worker::burst), after [`max_jobs`](Worker::max_jobs), and if too many handlers hang.
    ///
    /// Dropping the future aborts: handlers are dropped, and their leases expire.
    ///
    /// Close the client before the process ends: it may still give back leases of calls that the end has interrupted.
    ///
    /// Listening to signals changes what they do for the rest of the process.
    ///
    /// # Errors
    /// `Invalid` for a wrong configuration; `Closed` if the client is closed.
    pub async fn run(&self) -> Result<Exit> {
        self.run_with(self.options.clone(), true, pending()).await
    }

    /// Runs until this future is ready, instead of until a signal. The handlers then have the [grace
    /// period](Worker::grace).
    ///
    /// # Errors
    /// As for [`run`](Worker::run).
    pub async fn run_until(&self, end: impl Future<Output = ()>) -> Result<Exit> {
        self.run_with(self.options.clone(), false, end).await
    }

    /// Runs until the queues have nothing more to lease and no handler runs, for tests. Does not wait for delayed jobs.
    ///
    /// # Errors
    /// As for [`run`](Worker::run).
    pub async fn run_until_idle(&self) -> Result<Exit> {
        let mut options = self.options.clone();
        options.burst = true;
        self.run_with(options, false, pending()).await
    }

    /// Runs as [`run`](Worker::run) does, and ends the process, with the [status](Exit::status) of the exit. Because of
    /// that, a handler that does not return delays nothing: its job is given back, or fails if its time is over.
    pub async fn run_process(&self) -> ! {
        let mut options = self.options.clone();
        options.owns_process = true;
        let (status, handlers_run) = match self.run_with(options, true, pending()).await {
            Ok(exit) => (exit.status(), exit.running > 0 || exit.gave_up),
            Err(failure) => {
                error!(%failure, "the worker has failed");
                (1, true)
            }
        };
        // Leases of calls that the end has interrupted are given back.
        _ = tokio::time::timeout(CLOSING, self.client.close()).await;
        if handlers_run {
            // Nothing that runs at the exit of a process may wait for a thread whose job another worker may run soon.
            _ = std::io::stdout().flush();
            signal_hook::low_level::exit(status.into());
        }
        std::process::exit(status.into())
    }

    async fn run_with(
        &self,
        mut options: WorkerOptions,
        signals: bool,
        end: impl Future<Output = ()>,
    ) -> Result<Exit> {
        if let Some(mistake) = &self.mistake {
            return Err(mistake.clone());
        }
        let mut signals = Signals::listen(signals).map_err(|error| {
            Error::invalid(format_args!("signals cannot be listened to: {error}"))
        })?;
        let mut end = pin!(end);
        let children = match &self.face.children {
            None => None,
            Some(_) if !self.face.handlers.is_empty() => {
                return Err(Error::invalid("a worker with handlers and children"));
            }
            Some(children) => tokio::select! {
                biased;
                () = end.as_mut() => return Ok(Exit::before_start()),
                () = signals.next() => return Ok(Exit::before_start()),
                started = child_worker::start_first(children, &mut options) => Some(started?),
            },
        };
        if options.queues.is_empty() {
            options.queues = self.face.queues.iter().copied().map(QueueOptions::new).collect();
        }
        #[cfg_attr(not(feature = "metrics"), expect(unused_mut, reason = "metrics add a hook"))]
        let mut face = self.face.clone();
        #[cfg(feature = "metrics")]
        let metrics = match self.metrics {
            Some(address) => Some(metrics::Endpoint::bind(address, &mut face).await?),
            None => None,
        };
        let (slots, owns_process) = (options.slots, options.owns_process);
        // Children open their slots.
        let capacity = if children.is_some() { 0 } else { slots };
        let running = Running(Arc::new(WorkerCore::start_with(&self.client, options, capacity)?));
        let core = &running.0;
        info!(slots, "the worker starts");
        #[cfg(feature = "metrics")]
        let _server = metrics.map(|metrics| metrics.serve(core));
        let (face, handlers) = (Arc::new(face), TaskTracker::new());
        // On a thread of the runtime, as the handlers: `run` is often called on another one.
        let mut serving = match children {
            None => tokio::spawn(serve(face, core.clone(), handlers.clone())),
            Some((pool, first)) => {
                let slot = Slot { face, core: core.clone(), pool, hooks: handlers.clone() };
                tokio::spawn(in_children::serve(slot, slots, first))
            }
        };
        tokio::select! {
            biased;
            _ = &mut serving => {}
            () = self.follow(core, signals, end) => {}
        }
        if !owns_process {
            until_reported(core, &handlers).await;
        }
        ended(core).await
    }

    /// Ends the worker when it is told to, and tells hooks when it is throttled. Never returns.
    async fn follow(
        &self,
        core: &Arc<WorkerCore>,
        signals: Signals,
        end: impl Future<Output = ()>,
    ) {
        let on_end = async {
            end.await;
            core.drain(self.options.grace);
        };
        let on_throttle = async {
            for throttled in [true, false].into_iter().cycle() {
                core.throttled(throttled).await;
                self.face.notify(&Event::Throttled(throttled));
            }
        };
        tokio::join!(signals.end(core.stopper(), self.options.grace), on_end, on_throttle);
    }
}

/// Waits until hooks have heard of all ends.
async fn until_reported(core: &WorkerCore, handlers: &TaskTracker) {
    let exit = core.exit();
    if exit.running == 0 && !exit.is_aborted() {
        handlers.close();
        handlers.wait().await;
    }
}

/// How the worker has ended. It is listed no longer then, unless it was aborted.
async fn ended(core: &WorkerCore) -> Result<Exit> {
    let exit = core.exit();
    if !exit.is_aborted() {
        _ = tokio::time::timeout(CLOSING, core.left()).await;
    }
    info!(started = exit.started, reason = ?exit.reason, running = exit.running, "the worker has ended");
    match exit.error {
        Some(error) => Err(error),
        None => Ok(exit),
    }
}

/// Aborts the worker when `run` is dropped.
struct Running(Arc<WorkerCore>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs handlers in the background.
async fn serve(face: Arc<Face>, core: Arc<WorkerCore>, handlers: TaskTracker) {
    while let JobStart::Start(task) = core.next().await {
        handlers.spawn(run(face.clone(), core.clone(), handlers.clone(), task));
        let_others_run().await;
    }
}

/// Runs the handler of a task, and then those of others that can start: if handlers are short, one spawned task runs many.
async fn run(face: Arc<Face>, core: Arc<WorkerCore>, handlers: TaskTracker, first: Task) {
    let mut next = Some(JobStart::Start(first));
    while let Some(JobStart::Start(task)) = next {
        face.run(task, &handlers).await;
        tokio::task::consume_budget().await;
        next = core.try_next();
    }
}

/// Lets the runtime run other tasks before this one. Unlike `yield_now`, it lets another thread take this task if what runs
/// first does not return.
async fn let_others_run() {
    let mut is_second = false;
    poll_fn(|context| {
        if std::mem::replace(&mut is_second, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
