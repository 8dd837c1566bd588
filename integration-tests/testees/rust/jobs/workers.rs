//! The workers of a testee.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leaseq::{Client, Error, Result};
use leaseq_jobs::{Context, Exit, JobError, JobOptions, Middleware, Next, Output, Worker};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;

use super::children::NoteServer;
use super::notes::Notes;
use super::producing::retry;
use super::scripted::register;
use crate::lock;

/// By client and name.
#[derive(Default)]
pub(super) struct Workers(Mutex<HashMap<(String, String), Arc<Started>>>);

/// A worker that was started.
pub(super) struct Started {
    notes: Arc<Notes>,
    end: Mutex<Option<oneshot::Sender<()>>>,
    ended: watch::Receiver<Option<Result<Exit>>>,
    running: AbortHandle,
}

fn key(client: &str, request: &Value) -> (String, String) {
    (client.to_owned(), request["worker"].as_str().unwrap_or("worker").to_owned())
}

impl Workers {
    pub(super) fn get(&self, client: &str, request: &Value) -> Arc<Started> {
        lock(&self.0).get(&key(client, request)).expect("a worker of this name").clone()
    }

    /// A worker that is started again goes on with the notes of the last one.
    pub(super) fn start(&self, name: &str, client: &Client, request: &Value) {
        let key = key(name, request);
        let last = lock(&self.0).get(&key).map(|last| last.notes.clone());
        let notes = last.unwrap_or_default();
        request["log"].as_str().into_iter().for_each(|path| notes.log_to(path));
        let mut worker = configured(client, request);
        let mut server = None;
        if request["children"].is_null() {
            worker = with_handlers(worker, request, &notes);
        } else {
            let server = server.insert(NoteServer::start(&notes));
            worker = server.add_children(worker, request);
        }
        let (end, told_to_end) = oneshot::channel::<()>();
        let (tell_end, ended) = watch::channel(None);
        let process = request["process"] == true;
        let running = tokio::spawn(async move {
            if process {
                worker.run_process().await
            }
            let exit = worker.run_until(async { _ = told_to_end.await }).await;
            drop(server);
            _ = tell_end.send(Some(exit));
        });
        let (end, running) = (Mutex::new(Some(end)), running.abort_handle());
        lock(&self.0).insert(key, Arc::new(Started { notes, end, ended, running }));
    }

    pub(super) fn close(&self, client: &str) {
        lock(&self.0).retain(|(of, _), worker| {
            if of == client {
                worker.running.abort();
            }
            of != client
        });
    }
}

impl Started {
    pub(super) fn notes(&self) -> &Notes {
        &self.notes
    }

    pub(super) fn end(&self) {
        lock(&self.end).take();
    }

    pub(super) async fn exit(&self) -> Result<Value> {
        let mut ended = self.ended.clone();
        let exit = ended.wait_for(Option::is_some).await;
        let exit = exit.ok().and_then(|exit| exit.clone());
        let exit = exit.unwrap_or_else(|| Err(Error::invalid("the worker was aborted")))?;
        Ok(json!({ "status": exit.status(), "started": exit.started }))
    }
}

fn configured(client: &Client, request: &Value) -> Worker {
    let ms = |name: &str| request[name].as_u64().map(Duration::from_millis);
    let mut worker = Worker::new(client);
    match request["queues"].as_array() {
        Some(queues) => {
            for queue in queues {
                let weight = queue["weight"].as_u64().unwrap_or(1) as u32;
                worker = worker.queue(queue["name"].as_str().expect("a name"), weight);
            }
        }
        None => worker = worker.queue(request["queue"].as_str().expect("a queue"), 1),
    }
    if let Some(slots) = request["slots"].as_u64() {
        worker = worker.slots(slots as usize);
    }
    if let Some(jobs) = request["prefetch"].as_u64() {
        worker = worker.prefetch(jobs as usize);
    }
    if let Some(most) = request["max_jobs"].as_u64() {
        worker = worker.max_jobs(most);
    }
    worker = ms("lease_ms").into_iter().fold(worker, Worker::lease);
    worker = ms("kill_after_ms").into_iter().fold(worker, Worker::kill_after);
    worker = ms("grace_ms").into_iter().fold(worker, Worker::grace);
    if request["strict"] == true {
        worker = worker.strict_order();
    }
    if request["burst"] == true {
        worker = worker.burst();
    }
    worker
}

fn with_handlers(mut worker: Worker, request: &Value, notes: &Arc<Notes>) -> Worker {
    for name in request["middleware"].as_array().into_iter().flatten() {
        let (name, notes) = (name.as_str().expect("a name").to_owned(), notes.clone());
        worker = worker.middleware(Around { name, notes });
    }
    let work = json!({ "work": {} });
    let jobs = if request["jobs"].is_null() { &work } else { &request["jobs"] };
    for (name, options) in jobs.as_object().into_iter().flatten() {
        worker = register(worker, name, job_options(options), options["thread"] == true, notes);
    }
    worker
}

fn job_options(fields: &Value) -> JobOptions {
    let mut options = JobOptions::new();
    if let Some(timeout) = fields["timeout_ms"].as_u64() {
        options = options.timeout(Duration::from_millis(timeout));
    }
    retry(&fields["retry"]).into_iter().fold(options, JobOptions::retry)
}

/// Notes when it begins and ends.
struct Around {
    name: String,
    notes: Arc<Notes>,
}

#[leaseq_jobs::async_trait]
impl Middleware for Around {
    async fn handle(&self, job: &Context, next: Next<'_>) -> Result<Output, JobError> {
        let id = String::from_utf8_lossy(job.id()).into_owned();
        self.notes.note(format!("{id} {} before", self.name));
        let ended = next.run(job).await;
        self.notes.note(format!("{id} {} after", self.name));
        ended
    }
}
