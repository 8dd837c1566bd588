//! The jobs whose handlers run, by number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use leaseq_jobs::{
    ChildWorker, Event, Finish, JobError, JobStart, Policy, Reason, Settled, Task, WorkerCore,
};
use napi::Result;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::about::{Jobs, event_of};

/// A call gets at most so many jobs, so that the event loop goes on meanwhile.
const TASKS: usize = 100;
/// It gets no more when they have this many bytes.
const ENOUGH: usize = 1 << 20;

/// Where handlers run.
pub(super) enum Handlers {
    Here(WorkerCore),
    InChildren(ChildWorker),
}

/// A worker, and its jobs.
pub(super) struct Running {
    handlers: Handlers,
    /// By number. It wraps around; those of jobs that run at the same time are never so far apart.
    tasks: Mutex<HashMap<u32, Arc<Task>>>,
    stops: tokio::sync::Mutex<UnboundedReceiver<(u64, Reason)>>,
    /// What happens to jobs in children, if anybody wants to know.
    events: tokio::sync::Mutex<UnboundedReceiver<Value>>,
}

impl Running {
    pub(super) fn new(handlers: Handlers, events: UnboundedReceiver<Value>) -> Self {
        let core = match &handlers {
            Handlers::Here(core) => core,
            Handlers::InChildren(worker) => worker.core(),
        };
        let stops = tokio::sync::Mutex::new(core.stops());
        Running {
            handlers,
            tasks: Mutex::default(),
            stops,
            events: tokio::sync::Mutex::new(events),
        }
    }

    pub(super) fn core(&self) -> &WorkerCore {
        match &self.handlers {
            Handlers::Here(core) => core,
            Handlers::InChildren(worker) => worker.core(),
        }
    }

    /// Waits until the worker and its children have ended.
    pub(super) async fn ended(&self) {
        match &self.handlers {
            Handlers::Here(core) => core.ended().await,
            Handlers::InChildren(worker) => worker.ended().await,
        }
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<u32, Arc<Task>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn task(&self, number: u32) -> Option<Arc<Task>> {
        self.tasks().get(&number).cloned()
    }

    /// Jobs whose handlers have not ended fail.
    pub(super) fn drop_tasks(&self) {
        let tasks = std::mem::take(&mut *self.tasks());
        drop(tasks);
    }

    /// The next jobs, as JSON; none at the end of the worker. Those of children are none of them.
    pub(super) async fn next(&self) -> Jobs {
        let mut jobs = Jobs::default();
        let Handlers::Here(core) = &self.handlers else {
            self.ended().await;
            return jobs;
        };
        let mut next = Some(core.next().await);
        // Without a pause up to its answer: what `stops` then tells comes after it.
        while let Some(JobStart::Start(task)) = next {
            let number = number_of(&task);
            let task = Arc::new(task);
            self.tasks().insert(number, task.clone());
            jobs.add(number, &task);
            if jobs.count == TASKS || jobs.size() >= ENOUGH {
                break;
            }
            next = core.try_next();
        }
        jobs
    }

    /// Waits for jobs that are to stop: their numbers and reasons. Some may have ended.
    pub(super) async fn stops(&self) -> Value {
        let mut stops = Vec::new();
        self.stops.lock().await.recv_many(&mut stops, TASKS).await;
        stops.into_iter().map(|(number, reason)| json!([number as u32, reason.as_str()])).collect()
    }

    /// Waits for events; none: there are no more.
    pub(super) async fn events(&self) -> Vec<u8> {
        let mut events = Vec::new();
        self.events.lock().await.recv_many(&mut events, TASKS).await;
        Value::Array(events).to_string().into_bytes()
    }

    /// Zero for a job that has ended.
    pub(super) fn remaining(&self, number: u32) -> Result<f64> {
        let left = self.task(number).map(|task| {
            let left = task.soft_deadline().saturating_duration_since(Instant::now());
            left.as_secs_f64() * 1e3
        });
        Ok(left.unwrap_or(0.0))
    }

    /// False for a job that has ended.
    pub(super) fn more_time(&self, number: u32, time: Duration) -> leaseq::Result<bool> {
        let Some(task) = self.task(number) else { return Ok(false) };
        task.more_time(time).map(|()| true)
    }

    /// False for a job that has ended.
    pub(super) async fn progress(&self, number: u32, progress: Vec<u8>) -> leaseq::Result<bool> {
        let Some(task) = self.task(number) else { return Ok(false) };
        task.progress(progress).await.map(|()| true)
    }

    pub(super) fn result(result: Option<&[u8]>) -> Finish {
        Finish::Done { result: result.map(Bytes::copy_from_slice) }
    }

    pub(super) fn failure(
        classes: Vec<String>,
        message: String,
        trace: Option<String>,
        policy: Policy,
    ) -> Finish {
        let error = JobError::with_classes(classes, message).policy(policy);
        Finish::Failed(match trace {
            Some(trace) => error.trace(trace),
            None => error,
        })
    }

    /// Reports the end of a handler. This happens at once; the future is about the queue.
    pub(super) fn finish(
        &self,
        number: u32,
        finish: Finish,
    ) -> Result<impl Future<Output = leaseq::Result<Settled>> + Send + use<>> {
        let task = self.tasks().remove(&number);
        let task = task.ok_or_else(|| napi::Error::from_reason("the job has ended before"))?;
        Ok(self.core().finish(&task, finish))
    }

    /// All are reported, also if one of them has ended before.
    pub(super) fn done_many(&self, numbers: &[u32], results: Vec<Option<String>>) -> Result<()> {
        let mut results = results.into_iter();
        let mut done = Ok(());
        for number in numbers {
            let result = results.next().flatten().map(Bytes::from);
            match self.finish(*number, Finish::Done { result }) {
                Ok(answer) => drop(answer),
                Err(error) => done = Err(error),
            }
        }
        done
    }
}

#[allow(clippy::cast_possible_truncation, reason = "it wraps around")]
fn number_of(task: &Task) -> u32 {
    task.number() as u32
}

/// What has happened to a job in a child; nothing if that is no event of JavaScript.
pub(super) fn event(event: &Event<'_>) -> Option<Value> {
    match event {
        Event::Started(job) => Some(event_of("started", job.task())),
        Event::Ended(job, settled, time) => {
            let mut ended = event_of("ended", job.task());
            ended["outcome"] = settled.as_str().into();
            ended["durationMs"] = (time.as_secs_f64() * 1e3).into();
            if let Settled::Retried { error, .. } | Settled::Dead { error } = settled {
                ended["error"] = error.as_str().into();
            }
            Some(ended)
        }
        _ => None,
    }
}

pub(super) fn policy(how: &str, delay: Duration) -> Policy {
    match how {
        "retryAfter" => Policy::RetryAfter(delay),
        "discard" => Policy::Discard,
        "bury" => Policy::Bury,
        _ => Policy::Retry,
    }
}
