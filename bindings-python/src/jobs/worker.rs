//! The worker, as Python sees it.

use std::sync::Arc;
use std::time::Duration;

use leaseq::blocking::ProcessBound;
use leaseq_jobs::{ChildWorker, Exit, ExitReason, JobStart, Task, WorkerCore};
use pyo3::prelude::*;
use pyo3::types::PyList;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::sync::mpsc::unbounded_channel;

use super::events::{Events, JobEvent, list};
use super::options::WorkerArgs;
use super::shared::{Running, Shared};
use super::task::JobTask;
use super::threads::Threads;
use crate::answer::Answer;
use crate::call::{call, park_at_exit, waiting_call};
use crate::client::Client;
use crate::error::exception;
use crate::queue::{Caller, Reply};

/// A call for tasks gets at most so many, so that an event loop goes on meanwhile.
const TASKS: usize = 100;
/// How long the end of a worker waits for the registry.
const LEAVING: Duration = Duration::from_secs(1);

#[pyclass(frozen, module = "leaseq._leaseq")]
pub(crate) struct JobWorker(Arc<ProcessBound<Shared>>);

/// The reason of an end, how many jobs were started, how many handlers run, the status, whether the process must end at
/// once, and the error.
type Ended = (&'static str, u64, usize, u8, bool, Option<Py<PyAny>>);

/// Starts to lease.
#[pyfunction]
pub(crate) fn start_worker<'py>(
    py: Python<'py>,
    bridge: Caller<'_, 'py>,
    client: &Client,
    options: WorkerArgs<'py>,
) -> Reply<'py> {
    let events = options.events.then(Events::new);
    let (client, children, options) = (client.core().clone(), options.children()?, options.read()?);
    call(py, bridge, async move {
        let (client, slots) = (client.in_this_process().await?, options.slots);
        let running = match children {
            None => Running::Here(WorkerCore::start(client, options)?),
            Some(children) => {
                let start = match events.as_ref().and_then(Events::teller) {
                    Some(teller) => {
                        let hook = teller.hook();
                        ChildWorker::start_with_events(client, options, &children, hook).await
                    }
                    None => ChildWorker::start(client, options, &children).await,
                };
                Running::InChildren(start?)
            }
        };
        let (stops, stopping) = unbounded_channel();
        let shared = Shared {
            running,
            runtime: Handle::current(),
            slots,
            stops,
            stopping: Mutex::new(stopping),
            events,
            threads: Threads::default(),
        };
        let worker = JobWorker(Arc::new(ProcessBound::new(shared)));
        Ok(Answer::Object(Box::new(|py, _| Ok(Bound::new(py, worker)?.into_any()))))
    })
}

impl JobWorker {
    fn shared(&self, py: Python<'_>) -> PyResult<&Shared> {
        self.0.get("the worker").map_err(|error| exception(py, &error))
    }

    fn task(&self, task: Task) -> JobTask {
        JobTask::new(self.0.clone(), task)
    }
}

/// Waits, for a moment, until a worker that has ended is not listed any more.
async fn left(core: &WorkerCore) {
    if !matches!(core.exit().reason, ExitReason::Aborted | ExitReason::Failed) {
        _ = tokio::time::timeout(LEAVING, core.left()).await;
    }
}

/// The next tasks; none at the end of the worker.
async fn next(shared: &Shared) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut next = Some(shared.running.core().next().await);
    while let Some(JobStart::Start(task)) = next {
        tasks.push(task);
        if tasks.len() == TASKS {
            break;
        }
        next = shared.running.core().try_next();
    }
    if tasks.is_empty() {
        left(shared.running.core()).await;
    }
    tasks
}

/// The next events; none at the end of the worker.
async fn events(shared: &Shared) -> Vec<JobEvent> {
    match &shared.events {
        Some(events) => events.next(shared.running.ended()).await,
        None => Vec::new(),
    }
}

#[pymethods]
impl JobWorker {
    #[getter]
    fn slots(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.shared(py)?.slots)
    }

    /// Waits for tasks, for an event loop. An empty list: the worker has ended.
    fn next<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        let worker = self.0.clone();
        waiting_call(py, bridge, async move {
            let tasks = next(worker.get("the worker")?).await;
            Ok(Answer::Object(Box::new(move |py, _| {
                let worker = JobWorker(worker);
                let tasks: Vec<_> = tasks.into_iter().map(|task| worker.task(task)).collect();
                Ok(PyList::new(py, tasks)?.into_any())
            })))
        })
    }

    /// Waits for a task on a thread. `None`: the worker has ended.
    fn take(&self, py: Python<'_>) -> PyResult<Option<JobTask>> {
        let shared = self.shared(py)?;
        let (threads, core) = (&shared.threads, shared.running.core());
        let mut scout = None;
        loop {
            match threads.take(core, scout) {
                Some(JobStart::Start(task)) => return Ok(Some(self.task(task))),
                Some(_) => return Ok(None),
                None => {}
            }
            scout = Some(py.detach(|| {
                let scout = threads.wait(core, &shared.runtime, scout);
                park_at_exit();
                scout
            }));
        }
    }

    /// Waits for tasks that are to stop, of those that are watched; their numbers.
    fn stops<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        let worker = self.0.clone();
        waiting_call(py, bridge, async move {
            let mut numbers = Vec::new();
            let shared = worker.get("the worker")?;
            shared.stopping.lock().await.recv_many(&mut numbers, TASKS).await;
            Ok(Answer::Object(Box::new(|py, _| numbers.into_pyobject(py))))
        })
    }

    /// Waits for what happens to jobs, for an event loop. An empty list: there is nothing more.
    fn events<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        let worker = self.0.clone();
        waiting_call(py, bridge, async move {
            let told = events(worker.get("the worker")?).await;
            Ok(Answer::Object(Box::new(|py, _| list(py, told))))
        })
    }

    /// The same, on a thread.
    fn take_events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let shared = self.shared(py)?;
        let told = py.detach(|| {
            let told = shared.runtime.block_on(events(shared));
            park_at_exit();
            told
        });
        list(py, told)
    }

    /// Waits on a thread until the worker has ended, at most for this time; whether it has.
    fn ended(&self, py: Python<'_>, within: f64) -> PyResult<bool> {
        let shared = self.shared(py)?;
        let within = Duration::try_from_secs_f64(within).unwrap_or_default();
        Ok(py.detach(|| {
            shared.runtime.block_on(async {
                tokio::time::timeout(within, shared.running.ended()).await.is_ok()
            })
        }))
    }

    /// Waits on a thread, for a moment, until a worker that has ended is not listed any more.
    fn left(&self, py: Python<'_>) -> PyResult<()> {
        let shared = self.shared(py)?;
        py.detach(|| shared.runtime.block_on(left(shared.running.core())));
        Ok(())
    }

    /// Ends in order, with this grace period in seconds.
    fn drain(&self, py: Python<'_>, grace: f64) -> PyResult<()> {
        let shared = self.shared(py)?;
        shared.running.core().drain(Duration::try_from_secs_f64(grace).unwrap_or(Duration::MAX));
        Ok(())
    }

    /// Ends at once.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.shared(py)?.running.core().abort();
        Ok(())
    }

    /// How it has ended.
    fn exit(&self, py: Python<'_>) -> PyResult<Ended> {
        let exit = self.shared(py)?.running.core().exit();
        let status = exit.status();
        let Exit { reason, started, running, gave_up, error, .. } = exit;
        let error = error.map(|error| exception(py, &error).into_value(py).into_any());
        Ok((reason_word(reason), started, running, status, gave_up, error))
    }
}

fn reason_word(reason: ExitReason) -> &'static str {
    match reason {
        ExitReason::Drained => "drained",
        ExitReason::Idle => "idle",
        ExitReason::MaxJobs => "max_jobs",
        ExitReason::Hung => "hung",
        ExitReason::Aborted => "aborted",
        _ => "failed",
    }
}
