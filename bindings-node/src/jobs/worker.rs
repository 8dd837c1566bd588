//! The worker, as JavaScript sees it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use leaseq_jobs::{ChildWorker, Event, ExitReason, WorkerCore};
use napi::Result;
use napi::bindgen_prelude::Either;
use napi_derive::napi;
use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;

use super::options::{NativeChildren, NativeWorkerOptions};
use super::tasks::{self, Handlers, Running, policy};
use crate::client::{NativeClient, not_connected};
use crate::failure::Failure;
use crate::input::{bytes, duration};
use crate::submission_queue::SubmissionQueue;
use crate::wire::Outcome;

/// How long the end of a worker waits for the registry.
const LEAVING: Duration = Duration::from_secs(1);

/// A worker that leases once `start` has been answered. Its jobs have numbers.
#[napi]
pub struct NativeWorker {
    submissions: Arc<SubmissionQueue>,
    client: Arc<OnceLock<leaseq::Client>>,
    running: Arc<OnceLock<Arc<Running>>>,
}

/// The event loop has ended before the worker, perhaps inside a handler: those that ran have failed.
impl Drop for NativeWorker {
    fn drop(&mut self) {
        let Some(running) = self.running.get().cloned() else { return };
        // It fails only while the process ends; then leases expire.
        let _ = leaseq::blocking::start(async move {
            running.drop_tasks();
            running.core().drain(Duration::ZERO);
            running.ended().await;
            leave(running.core()).await;
        });
    }
}

async fn leave(core: &WorkerCore) {
    if !matches!(core.exit().reason, ExitReason::Aborted | ExitReason::Failed) {
        let _ = tokio::time::timeout(LEAVING, core.left()).await;
    }
}

impl NativeWorker {
    fn running(&self) -> Result<&Arc<Running>> {
        self.running.get().ok_or_else(|| napi::Error::from_reason("the worker does not run"))
    }
}

#[napi]
impl NativeWorker {
    #[napi(constructor)]
    pub fn new(client: &NativeClient) -> Self {
        NativeWorker {
            submissions: client.submissions.clone(),
            client: client.client.clone(),
            running: Arc::default(),
        }
    }

    /// Answers with nothing; with children, when the first one has started.
    #[napi]
    pub fn start(&self, call: u32, options: NativeWorkerOptions) {
        let (client, place) = (self.client.clone(), self.running.clone());
        self.submissions.call(call, async move {
            let client = client.get().ok_or_else(not_connected)?;
            let children = options.children.as_ref().map(NativeChildren::read).transpose()?;
            let events = options.children.as_ref().is_some_and(|children| children.events);
            let options = options.read()?;
            let (happened, happening) = unbounded_channel();
            let handlers = match children {
                None => Handlers::Here(WorkerCore::start(client, options)?),
                Some(children) if events => {
                    let tell = move |event: &Event<'_>| {
                        // Nobody listens once the worker is gone.
                        tasks::event(event).into_iter().for_each(|event| _ = happened.send(event));
                    };
                    let start = ChildWorker::start_with_events(client, options, &children, tell);
                    Handlers::InChildren(start.await?)
                }
                Some(children) => {
                    Handlers::InChildren(ChildWorker::start(client, options, &children).await?)
                }
            };
            let running = Running::new(handlers, happening);
            // Called once, so it is still empty.
            let _ = place.set(Arc::new(running));
            Ok(Outcome::Done)
        });
    }

    /// Answers with jobs to run; none: the worker has ended. Can be cancelled.
    #[napi]
    pub fn next(&self, call: u32) -> Result<()> {
        let running = self.running()?.clone();
        self.submissions.wait(call, async move {
            let jobs = running.next().await;
            if jobs.count == 0 {
                leave(running.core()).await;
            }
            Ok(Outcome::Text(jobs.into_json()))
        });
        Ok(())
    }

    /// Answers with the numbers and reasons of jobs that are to stop; can be cancelled.
    #[napi]
    pub fn stops(&self, call: u32) -> Result<()> {
        let running = self.running()?.clone();
        self.submissions.wait(call, async move { Ok(Outcome::Json(running.stops().await)) });
        Ok(())
    }

    /// Answers with what has happened to jobs in children; nothing: the worker has ended. Can be cancelled.
    #[napi]
    pub fn events(&self, call: u32) -> Result<()> {
        let running = self.running()?.clone();
        self.submissions.wait(call, async move { Ok(Outcome::Text(running.events().await)) });
        Ok(())
    }

    /// Ends in order.
    #[napi]
    pub fn drain(&self, grace_ms: f64) -> Result<()> {
        let grace = duration("a grace period", grace_ms).unwrap_or(Duration::MAX);
        self.running()?.core().drain(grace);
        Ok(())
    }

    /// Ends at once.
    #[napi]
    pub fn abort(&self) -> Result<()> {
        self.running()?.core().abort();
        Ok(())
    }

    /// How it has ended, as JSON.
    #[napi]
    pub fn exit(&self) -> Result<String> {
        let exit = self.running()?.core().exit();
        let error = exit.error.as_ref().map(|error| {
            let Failure { kind, message, outcome_unknown } = error.clone().into();
            json!({ "code": kind.code(), "message": message, "unknown": outcome_unknown })
        });
        let about = json!({
            "reason": reason(exit.reason),
            "started": exit.started,
            "running": exit.running,
            "status": exit.status(),
            "error": error,
        });
        Ok(about.to_string())
    }

    /// Milliseconds until the timeout of a job.
    #[napi]
    pub fn remaining(&self, job: u32) -> Result<f64> {
        self.running()?.remaining(job)
    }

    /// Sets the timeout of a job anew. False: it has ended. Throws an error with its code.
    #[napi]
    pub fn more_time(&self, job: u32, ms: f64) -> Result<bool, &'static str> {
        let running = self.running.get().ok_or_else(|| Failure::internal("no worker"))?;
        let more = running.more_time(job, duration("a time", ms)?);
        Ok(more.map_err(Failure::from)?)
    }

    /// Answers with false if the job has ended, and otherwise with true.
    #[napi]
    pub fn progress(&self, call: u32, job: u32, progress: Either<String, &[u8]>) -> Result<()> {
        let running = self.running()?.clone();
        let progress = bytes(&progress).to_vec();
        self.submissions
            .call(call, async move { Ok(Outcome::Bool(running.progress(job, progress).await?)) });
        Ok(())
    }

    /// A job has succeeded, perhaps with a result. Answers with what has become of it.
    #[napi]
    pub fn done(
        &self,
        call: Option<u32>,
        job: u32,
        result: Option<Either<String, &[u8]>>,
    ) -> Result<()> {
        let finish = Running::result(result.as_ref().map(|result| bytes(result)));
        self.finish(call, job, finish)
    }

    /// Jobs have succeeded, with these results; without any, the list is empty. Nobody waits for what becomes of them.
    #[napi]
    pub fn done_many(&self, jobs: &[u32], results: Vec<Option<String>>) -> Result<()> {
        self.running()?.done_many(jobs, results)
    }

    /// A job has failed. `policy`: `retry`, `retryAfter`, `discard` or `bury`.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "an object would cost more than the call")]
    pub fn failed(
        &self,
        call: Option<u32>,
        job: u32,
        classes: Vec<String>,
        message: String,
        trace: Option<String>,
        how: String,
        delay_ms: f64,
    ) -> Result<()> {
        let delay = duration("a delay", delay_ms).unwrap_or_default();
        self.finish(call, job, Running::failure(classes, message, trace, policy(&how, delay)))
    }

    /// A job is to run again after this delay.
    #[napi]
    pub fn snooze(&self, call: Option<u32>, job: u32, delay_ms: f64) -> Result<()> {
        let delay = duration("a delay", delay_ms).unwrap_or_default();
        self.finish(call, job, leaseq_jobs::Finish::Snooze(delay))
    }

    /// A job has stopped because it was cancelled.
    #[napi]
    pub fn cancelled(&self, call: Option<u32>, job: u32) -> Result<()> {
        self.finish(call, job, leaseq_jobs::Finish::Cancelled)
    }

    /// The arguments of a job do not fit its handler.
    #[napi]
    pub fn invalid_args(&self, call: Option<u32>, job: u32, message: String) -> Result<()> {
        self.finish(call, job, leaseq_jobs::Finish::InvalidArgs(message))
    }

    /// With a call, it is answered with what has become of the job.
    fn finish(&self, call: Option<u32>, job: u32, finish: leaseq_jobs::Finish) -> Result<()> {
        let answer = self.running()?.finish(job, finish)?;
        if let Some(call) = call {
            self.submissions
                .call(call, async move { Ok(Outcome::Json(answer.await?.as_str().into())) });
        }
        Ok(())
    }
}

fn reason(reason: ExitReason) -> &'static str {
    match reason {
        ExitReason::Drained => "drained",
        ExitReason::Idle => "idle",
        ExitReason::MaxJobs => "maxJobs",
        ExitReason::Hung => "hung",
        ExitReason::Aborted => "aborted",
        _ => "failed",
    }
}
