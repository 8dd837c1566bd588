//! The jobs whose handlers run, by number.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt;
use leaseq_jobs::{
    ChildWorker, Context, Event, Finish, JobError, JobStart, Policy, Settled, Task, WorkerCore,
};
use napi::Result;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::failure::Failure;

/// A call gets at most so many jobs, so that the event loop goes on meanwhile.
const TASKS: usize = 100;

/// A job whose handler runs.
struct Entry {
    task: Arc<Task>,
    /// The handler has ended.
    over: Arc<Notify>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.over.notify_one();
    }
}

/// Where handlers run.
pub(super) enum Handlers {
    Here(WorkerCore),
    InChildren(ChildWorker),
}

/// A worker, and its jobs.
pub(super) struct Running {
    handlers: Handlers,
    tasks: Mutex<HashMap<u32, Entry>>,
    next_number: AtomicU32,
    stops: UnboundedSender<(u32, &'static str)>,
    stopping: tokio::sync::Mutex<UnboundedReceiver<(u32, &'static str)>>,
    /// What happens to jobs in children, if anybody wants to know.
    events: tokio::sync::Mutex<UnboundedReceiver<Value>>,
}

impl Running {
    pub(super) fn new(handlers: Handlers, events: UnboundedReceiver<Value>) -> Self {
        let (stops, stopping) = unbounded_channel();
        Running {
            handlers,
            tasks: Mutex::default(),
            next_number: AtomicU32::new(0),
            stops,
            stopping: tokio::sync::Mutex::new(stopping),
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

    fn tasks(&self) -> MutexGuard<'_, HashMap<u32, Entry>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn task(&self, number: u32) -> Option<Arc<Task>> {
        self.tasks().get(&number).map(|entry| entry.task.clone())
    }

    /// Jobs whose handlers have not ended fail.
    pub(super) fn drop_tasks(&self) {
        let tasks = std::mem::take(&mut *self.tasks());
        drop(tasks);
    }

    /// The next jobs, with their arguments; none at the end of the worker. Those of children are none of them.
    pub(super) async fn next(&self) -> Vec<(Value, Bytes)> {
        let mut tasks = Vec::new();
        let Handlers::Here(core) = &self.handlers else {
            self.ended().await;
            return tasks;
        };
        let mut next = Some(core.next().await);
        while let Some(JobStart::Start(task)) = next {
            tasks.push(self.start(task));
            if tasks.len() == TASKS {
                break;
            }
            next = core.next().now_or_never();
        }
        tasks
    }

    fn start(&self, task: Task) -> (Value, Bytes) {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let about = about(number, &task);
        let args = task.args().clone();
        let (task, over) = (Arc::new(task), Arc::new(Notify::new()));
        self.watch(number, task.clone(), over.clone());
        self.tasks().insert(number, Entry { task, over });
        (about, args)
    }

    /// Reports when the handler is to stop.
    fn watch(&self, number: u32, task: Arc<Task>, over: Arc<Notify>) {
        let stops = self.stops.clone();
        tokio::spawn(async move {
            tokio::select! {
                reason = task.cancelled() => {
                    // It fails only when the worker is gone.
                    let _ = stops.send((number, reason.as_str()));
                }
                () = over.notified() => {}
            }
        });
    }

    /// Waits for jobs that are to stop: their numbers and reasons.
    pub(super) async fn stops(&self) -> Value {
        let mut stops = Vec::new();
        self.stopping.lock().await.recv_many(&mut stops, TASKS).await;
        stops.into_iter().map(|(number, reason)| json!([number, reason])).collect()
    }

    /// Waits for events; none: there are no more.
    pub(super) async fn events(&self) -> Value {
        let mut events = Vec::new();
        self.events.lock().await.recv_many(&mut events, TASKS).await;
        events.into()
    }

    /// Zero for a job that has ended.
    pub(super) fn remaining(&self, number: u32) -> Result<f64> {
        let left = self.task(number).map(|task| {
            let left = task.soft_deadline().saturating_duration_since(Instant::now());
            left.as_secs_f64() * 1e3
        });
        Ok(left.unwrap_or(0.0))
    }

    pub(super) fn more_time(
        &self,
        number: u32,
        time: Duration,
    ) -> std::result::Result<(), Failure> {
        Ok(self.task(number).ok_or_else(ended)?.more_time(time)?)
    }

    pub(super) async fn progress(
        &self,
        number: u32,
        progress: Vec<u8>,
    ) -> std::result::Result<(), Failure> {
        Ok(self.task(number).ok_or_else(ended)?.progress(progress).await?)
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
        let entry = self.tasks().remove(&number);
        let entry = entry.ok_or_else(|| napi::Error::from_reason("the job has ended before"))?;
        Ok(self.core().finish(&entry.task, finish))
    }
}

/// A job, as JavaScript sees it.
fn about(number: u32, task: &Task) -> Value {
    json!({
        "number": number,
        "name": task.name(),
        "queue": task.queue(),
        "id": String::from_utf8_lossy(task.id()),
        "attempt": task.attempt(),
        "maxAttempts": task.max_attempts(),
        "generation": task.generation(),
        "lastError": task.last_error(),
        "meta": task.meta(),
        "previous": task.trigger().map(|previous| json!({
            "id": String::from_utf8_lossy(previous.id()),
            "result": previous.result().map(|result| String::from_utf8_lossy(result)),
        })),
    })
}

/// What has happened to a job in a child; nothing if that is no event of JavaScript.
pub(super) fn event(event: &Event<'_>) -> Option<Value> {
    let of = |kind: &str, job: &Context| {
        let args = String::from_utf8_lossy(job.task().args());
        json!({ "kind": kind, "job": about(0, job.task()), "args": args })
    };
    match event {
        Event::Started(job) => Some(of("started", job)),
        Event::Ended(job, settled, time) => {
            let mut ended = of("ended", job);
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

fn ended() -> Failure {
    Failure::invalid("the job has ended")
}

pub(super) fn policy(how: &str, delay: Duration) -> Policy {
    match how {
        "retryAfter" => Policy::RetryAfter(delay),
        "discard" => Policy::Discard,
        "bury" => Policy::Bury,
        _ => Policy::Retry,
    }
}
