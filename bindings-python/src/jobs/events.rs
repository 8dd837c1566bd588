//! What happens to jobs, for a function of the program.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leaseq_jobs::{Event, Settled, Task};
use pyo3::prelude::*;
use pyo3::types::PyList;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::convert;

/// A call for events gets at most so many.
const MANY: usize = 100;
/// How long the end of a worker waits for what has become of its last jobs.
const TELLING: Duration = Duration::from_secs(1);

/// The fields of `leaseq.jobs.JobEvent`, in their order.
type Fields<'py> = (
    &'static str,
    String,
    String,
    Bound<'py, PyAny>,
    u32,
    u32,
    u64,
    BTreeMap<String, String>,
    Option<&'static str>,
    Option<f64>,
    Option<String>,
);

/// A handler has started; or it has ended after this time, and this has become of its job.
pub(super) struct JobEvent {
    about: About,
    end: Option<(Settled, Duration)>,
}

/// What an event says of its job. Not the task itself: nobody may hold that longer than its handler runs.
#[derive(Clone)]
struct About {
    name: String,
    queue: String,
    id: Vec<u8>,
    attempt: u32,
    max_attempts: u32,
    generation: u64,
    meta: BTreeMap<String, String>,
}

impl About {
    fn of(task: &Task) -> About {
        About {
            name: task.name().to_owned(),
            queue: task.queue().to_owned(),
            id: task.id().to_vec(),
            attempt: task.attempt(),
            max_attempts: task.max_attempts(),
            generation: task.generation(),
            meta: task.meta().clone(),
        }
    }
}

impl JobEvent {
    fn fields(self, py: Python<'_>) -> PyResult<Fields<'_>> {
        let About { name, queue, id, attempt, max_attempts, generation, meta } = self.about;
        let id = convert::id_text(py, &id)?;
        let kind = if self.end.is_some() { "ended" } else { "started" };
        let (mut outcome, mut time, mut error) = (None, None, None);
        if let Some((settled, took)) = self.end {
            (outcome, time) = (Some(settled.as_str()), Some(took.as_secs_f64()));
            if let Settled::Retried { error: text, .. } | Settled::Dead { error: text } = settled {
                error = Some(text);
            }
        }
        Ok((kind, name, queue, id, attempt, max_attempts, generation, meta, outcome, time, error))
    }
}

/// Events as Python gets them.
pub(super) fn list(py: Python<'_>, events: Vec<JobEvent>) -> PyResult<Bound<'_, PyAny>> {
    let events = events.into_iter().map(|event| event.fields(py)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, events)?.into_any())
}

/// From where jobs run to the function that is told.
pub(super) struct Events {
    /// `None` once the worker has ended.
    tell: Mutex<Option<Teller>>,
    told: tokio::sync::Mutex<UnboundedReceiver<JobEvent>>,
}

impl Events {
    pub(super) fn new() -> Events {
        let (tell, told) = unbounded_channel();
        Events { tell: Mutex::new(Some(Teller(tell))), told: tokio::sync::Mutex::new(told) }
    }

    pub(super) fn teller(&self) -> Option<Teller> {
        self.tell.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the next events, and for the end of the worker; none: there are no more.
    pub(super) async fn next(&self, ended: impl Future<Output = ()>) -> Vec<JobEvent> {
        let mut told = self.told.lock().await;
        let mut events = Vec::new();
        tokio::select! {
            biased;
            _ = told.recv_many(&mut events, MANY) => return events,
            () = ended => {}
        }
        self.tell.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The channel ends when nobody waits for an answer of the queue any more.
        _ = tokio::time::timeout(TELLING, told.recv_many(&mut events, MANY)).await;
        events
    }
}

/// Nobody listens once the worker is gone; so what it tells may be lost.
#[derive(Clone)]
pub(super) struct Teller(UnboundedSender<JobEvent>);

impl Teller {
    pub(super) fn started(&self, task: &Task) {
        _ = self.0.send(JobEvent { about: About::of(task), end: None });
    }

    pub(super) fn ended(&self, task: &Task, settled: Settled, took: Duration) {
        _ = self.0.send(JobEvent { about: About::of(task), end: Some((settled, took)) });
    }

    /// Waits for what becomes of a job whose handler has ended.
    pub(super) async fn will_end(
        self,
        task: Arc<Task>,
        settled: impl Future<Output = leaseq::Result<Settled>>,
        took: Duration,
    ) {
        if let Ok(settled) = settled.await {
            self.ended(&task, settled, took);
        }
    }

    /// What a worker with children calls.
    pub(super) fn hook(self) -> impl Fn(&Event<'_>) + Send + Sync + 'static {
        move |event| match event {
            Event::Started(job) => self.started(job.task()),
            Event::Ended(job, settled, took) => {
                self.ended(job.task(), (*settled).clone(), *took);
            }
            _ => {}
        }
    }
}
