//! Adding jobs, and waiting for their results.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, UNIX_EPOCH};

use leaseq::{Client, Result};
use leaseq_conformance::conformance::wire;
use leaseq_jobs::{JobGroup, JobRef, NewJob, Producer, ResultError, Retry};
use serde_json::{Value, json};

use crate::lock;

/// References to jobs, by their names.
#[derive(Default)]
pub(super) struct Refs(Mutex<HashMap<String, JobRef>>);

impl Refs {
    pub(super) async fn enqueue(&self, client: &Client, request: &Value) -> Result<Value> {
        let added = Producer::new(client).enqueue(new_job(request)).await?;
        let gives = added.added();
        if let Some(name) = request["as"].as_str() {
            lock(&self.0).insert(name.to_owned(), added);
        }
        Ok(gives.into())
    }

    pub(super) async fn enqueue_group(&self, client: &Client, request: &Value) -> Result<Value> {
        let id = wire::bytes(request["id"].as_str().unwrap_or_default());
        let mut group = JobGroup::new(id, following(request, "jobs"));
        group = following(request, "on_failure").into_iter().fold(group, JobGroup::on_failure);
        group = following(request, "on_end").into_iter().fold(group, JobGroup::on_end);
        group = group.then(following(request, "then"));
        let added = Producer::new(client).enqueue_group(group).await?;
        Ok(added.jobs.iter().map(JobRef::added).collect())
    }

    pub(super) async fn result(&self, request: &Value) -> Result<Value> {
        let name = request["ref"].as_str().unwrap_or_default();
        let job = lock(&self.0).get(name).cloned().expect("a reference of this name");
        let wait = Duration::from_millis(request["wait_ms"].as_u64().unwrap_or(30_000));
        Ok(match job.result::<Value>(wait).await {
            Ok(value) => json!({ "value": value }),
            Err(ResultError::Failed(error)) => json!({ "failed": error }),
            Err(ResultError::NotEnded) => Value::Null,
            Err(ResultError::Cancelled) => "cancelled".into(),
            Err(ResultError::Removed) => "removed".into(),
            Err(ResultError::NotRetained) => "not_retained".into(),
            Err(ResultError::Gone) => "gone".into(),
            Err(ResultError::Queue(error)) => return Err(error),
            Err(error) => panic!("{error}"),
        })
    }
}

/// Rules for retries, if there are any.
pub(super) fn retry(fields: &Value) -> Option<Retry> {
    let fields = fields.as_object()?;
    let ms = |name: &str| fields.get(name)?.as_u64().map(Duration::from_millis);
    let texts = |name: &str| fields.get(name).map(|list| wire::strings(list).collect::<Vec<_>>());
    let max = fields.get("max").and_then(Value::as_u64);
    let mut retry = max.map_or_else(Retry::default, |max| Retry::new(max as u32));
    retry = ms("base_ms").into_iter().fold(retry, Retry::base);
    retry = ms("cap_ms").into_iter().fold(retry, Retry::cap);
    retry = texts("on").into_iter().fold(retry, Retry::on);
    Some(texts("never").into_iter().fold(retry, Retry::never))
}

fn new_job(request: &Value) -> NewJob {
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    let number = |name: &str| request[name].as_u64();
    let ms = |name: &str| number(name).map(Duration::from_millis);
    let bytes = |name: &str| request[name].as_str().map(wire::bytes);
    let mut job = NewJob::named(text("job"), text("queue"), &request["args"]);
    for (key, value) in request["meta"].as_object().into_iter().flatten() {
        job = job.meta(key, value.as_str().unwrap_or_default());
    }
    job = ms("timeout_ms").into_iter().fold(job, NewJob::timeout);
    job = retry(&request["retry"]).into_iter().fold(job, NewJob::retry);
    job = bytes("id").into_iter().fold(job, NewJob::id);
    job = bytes("unique").into_iter().fold(job, NewJob::unique);
    job = ms("unique_for_ms").into_iter().fold(job, NewJob::unique_for);
    job = ms("delay_ms").into_iter().fold(job, NewJob::delay);
    job = ms("retain_ms").into_iter().fold(job, NewJob::retain);
    job = ms("expires_in_ms").into_iter().fold(job, NewJob::expires_in);
    if let Some(at) = ms("due_at_ms") {
        job = job.due_at(UNIX_EPOCH + at);
    }
    if let Some(priority) = number("priority") {
        job = job.priority(priority as u8);
    }
    if let Some(most) = number("max_attempts") {
        job = job.max_attempts(most as u32);
    }
    job = following(request, "on_failure").into_iter().fold(job, NewJob::on_failure);
    job = following(request, "on_end").into_iter().fold(job, NewJob::on_end);
    job = job.then(following(request, "then"));
    if request["replace"] == true { job.replace() } else { job }
}

/// The jobs of a list in the request, in its queue unless they name another one.
fn following(request: &Value, name: &str) -> Vec<NewJob> {
    let jobs = request[name].as_array().into_iter().flatten();
    jobs.map(|next| {
        let mut next = next.clone();
        if next["queue"].is_null() {
            next["queue"] = request["queue"].clone();
        }
        new_job(&next)
    })
    .collect()
}
