//! A job that a handler runs.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt;
use leaseq::blocking::ProcessBound;
use leaseq_jobs::{Finish, JobError, Policy, Task};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio::sync::Notify;

use super::events::{Events, Teller};
use super::progress::Progress;
use super::shared::Shared;
use crate::answer::{Answer, trigger_value};
use crate::call::wait;
use crate::convert;
use crate::error::{exception, internal, invalid};

/// The most that can be said about the progress, in bytes.
const MAX_PROGRESS: usize = 1024;

static NUMBER: AtomicU64 = AtomicU64::new(0);

#[pyclass(frozen, module = "leaseq._leaseq")]
pub(crate) struct JobTask {
    /// A forked child must not end the jobs of its parent.
    task: ProcessBound<Arc<Task>>,
    worker: Arc<ProcessBound<Shared>>,
    number: u64,
    progress: Arc<Progress>,
    /// The handler has ended, or nobody waits for it.
    over: Arc<Notify>,
    /// When the handler has started, if the program is told that.
    started: OnceLock<Instant>,
}

impl Drop for JobTask {
    fn drop(&mut self) {
        if self.task.is_here() {
            self.over.notify_one();
        }
    }
}

impl JobTask {
    pub(super) fn new(worker: Arc<ProcessBound<Shared>>, task: Task) -> Self {
        JobTask {
            task: ProcessBound::new(Arc::new(task)),
            worker,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            progress: Arc::default(),
            over: Arc::default(),
            started: OnceLock::new(),
        }
    }

    /// The task in any process, for what needs no lock.
    fn look(&self, py: Python<'_>) -> PyResult<&Arc<Task>> {
        self.task.peek().ok_or_else(|| internal(py, "the task is gone"))
    }

    fn task(&self, py: Python<'_>) -> PyResult<&Arc<Task>> {
        self.task.get("the job").map_err(|error| exception(py, &error))
    }

    fn worker(&self, py: Python<'_>) -> PyResult<&Shared> {
        self.worker.get("the worker").map_err(|error| exception(py, &error))
    }

    fn finish(&self, py: Python<'_>, finish: Finish) -> PyResult<()> {
        self.over.notify_one();
        let (worker, task) = (self.worker(py)?, self.task(py)?);
        // Before the end of the last task, with which the worker may end: it waits for those who can still tell.
        let told = self.teller(worker).zip(self.started.get());
        // It happens at once. The answer is about the queue, and no handler waits for it.
        let settled = worker.running.core().finish(task, finish);
        let Some((teller, started)) = told else {
            return match settled.now_or_never() {
                Some(Err(error)) => Err(exception(py, &error)),
                _ => Ok(()),
            };
        };
        let (mut settled, took) = (Box::pin(settled), started.elapsed());
        match settled.as_mut().now_or_never() {
            Some(Err(error)) => return Err(exception(py, &error)),
            Some(Ok(settled)) => teller.ended(task, settled, took),
            None => _ = worker.runtime.spawn(teller.will_end(task.clone(), settled, took)),
        }
        Ok(())
    }

    /// `None`: the program does not want to know, or the worker has ended.
    fn teller(&self, worker: &Shared) -> Option<Teller> {
        worker.events.as_ref().and_then(Events::teller)
    }
}

#[pymethods]
impl JobTask {
    /// Tells the tasks of a process apart.
    #[getter]
    fn number(&self) -> u64 {
        self.number
    }

    #[getter]
    fn name<'a>(&'a self, py: Python<'a>) -> PyResult<&'a str> {
        Ok(self.look(py)?.name())
    }

    /// The handler starts.
    fn begun(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(teller) = self.teller(self.worker(py)?) {
            teller.started(self.task(py)?);
            _ = self.started.set(Instant::now());
        }
        Ok(())
    }

    /// The arguments, as JSON.
    #[getter]
    fn args<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.look(py)?.args()))
    }

    #[getter]
    fn meta(&self, py: Python<'_>) -> PyResult<BTreeMap<String, String>> {
        Ok(self.look(py)?.meta().clone())
    }

    #[getter]
    fn queue<'a>(&'a self, py: Python<'a>) -> PyResult<&'a str> {
        Ok(self.look(py)?.queue())
    }

    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::id_text(py, self.look(py)?.id())
    }

    #[getter]
    fn attempt(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.look(py)?.attempt())
    }

    #[getter]
    fn max_attempts(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.look(py)?.max_attempts())
    }

    #[getter]
    fn last_error<'a>(&'a self, py: Python<'a>) -> PyResult<&'a str> {
        Ok(self.look(py)?.last_error())
    }

    /// The job whose end has added this one.
    #[getter]
    fn trigger<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        trigger_value(py, self.look(py)?.trigger())
    }

    #[getter]
    fn generation(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.look(py)?.generation())
    }

    /// Seconds until the timeout.
    #[getter]
    fn remaining(&self, py: Python<'_>) -> PyResult<f64> {
        let deadline = self.task(py)?.soft_deadline();
        Ok(deadline.saturating_duration_since(Instant::now()).as_secs_f64())
    }

    /// Why the handler is to stop; `None`: it is not.
    #[getter]
    fn cancel_reason(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        Ok(self.task(py)?.cancel_reason().map(leaseq_jobs::Reason::as_str))
    }

    /// Waits until the handler is to stop, on its thread; without a limit if there is none.
    fn wait_cancelled(&self, py: Python<'_>, within: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let within = within.map(|within| convert::duration("a wait", within)).transpose()?;
        let task = self.task(py)?.clone();
        let waited = wait(py, async move {
            let end = async {
                match within {
                    Some(within) => tokio::time::sleep(within).await,
                    None => pending().await,
                }
            };
            let cancelled = tokio::select! {
                biased;
                _ = task.cancelled() => true,
                () = end => false,
            };
            Ok(Answer::Flag(cancelled))
        })?;
        Ok(matches!(waited, Answer::Flag(true)))
    }

    /// From now on the number of this task is one of the `stops` of the worker when it is to stop, and again when it
    /// is to be stopped by force.
    fn watch(&self, py: Python<'_>) -> PyResult<()> {
        let worker = self.worker(py)?;
        let (task, over) = (Arc::downgrade(self.task(py)?), self.over.clone());
        let (stops, number) = (worker.stops.clone(), self.number);
        worker.runtime.spawn(async move {
            let Some(task) = task.upgrade() else { return };
            let watched = async {
                task.cancelled().await;
                _ = stops.send(number);
                task.killed().await;
                _ = stops.send(number);
            };
            tokio::select! {
                () = watched => {}
                () = over.notified() => {}
            }
        });
        Ok(())
    }

    fn more_time(&self, py: Python<'_>, time: &Bound<'_, PyAny>) -> PyResult<()> {
        let time = convert::duration("a time", time)?;
        self.task(py)?.more_time(time).map_err(|error| exception(py, &error))
    }

    fn progress(&self, py: Python<'_>, progress: &Bound<'_, PyAny>) -> PyResult<()> {
        let progress = convert::data("progress", progress)?;
        if progress.len() > MAX_PROGRESS {
            let size = progress.len();
            return Err(invalid(
                py,
                format_args!("progress of {size} bytes is over the limit of {MAX_PROGRESS}"),
            ));
        }
        let progress = Bytes::copy_from_slice(&progress);
        self.progress.report(&self.worker(py)?.runtime, self.task(py)?, progress);
        Ok(())
    }

    fn done(&self, py: Python<'_>, result: Option<&[u8]>) -> PyResult<()> {
        self.finish(py, Finish::Done { result: result.map(Bytes::copy_from_slice) })
    }

    /// `policy`: `retry`, `retry_after`, `discard` or `bury`.
    fn failed(
        &self,
        py: Python<'_>,
        classes: Vec<String>,
        message: String,
        trace: Option<String>,
        policy: &str,
        delay: f64,
    ) -> PyResult<()> {
        let delay = Duration::try_from_secs_f64(delay).unwrap_or_default();
        let policy = match policy {
            "retry_after" => Policy::RetryAfter(delay),
            "discard" => Policy::Discard,
            "bury" => Policy::Bury,
            _ => Policy::Retry,
        };
        let mut error = JobError::with_classes(classes, message).policy(policy);
        if let Some(trace) = trace {
            error = error.trace(trace);
        }
        self.finish(py, Finish::Failed(error))
    }

    fn snooze(&self, py: Python<'_>, delay: f64) -> PyResult<()> {
        self.finish(py, Finish::Snooze(Duration::try_from_secs_f64(delay).unwrap_or_default()))
    }

    fn cancelled(&self, py: Python<'_>) -> PyResult<()> {
        self.finish(py, Finish::Cancelled)
    }

    fn invalid_args(&self, py: Python<'_>, message: String) -> PyResult<()> {
        self.finish(py, Finish::InvalidArgs(message))
    }
}
