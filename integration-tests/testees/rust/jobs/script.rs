//! The handler: it does what the arguments of its job say.

use std::collections::VecDeque;
use std::time::Duration;

use leaseq_jobs::{Context, JobError, Policy, Reason};
use serde_json::Value;

use super::notes::Notes;

/// The message of errors that a step asks for.
const ON_PURPOSE: &str = "on purpose";

/// Runs the steps of this run of the job.
pub(super) async fn run(steps: &[Value], job: &Context, notes: &Notes) -> Result<Value, JobError> {
    let id = String::from_utf8_lossy(job.id()).into_owned();
    let run = notes.count_run(&id);
    notes.note(format!("{id} start {}", job.attempt()));
    let _end = End { id: &id, notes };
    let stopped = |reason: Reason| {
        notes.note(format!("{id} cancelled {}", reason.as_str()));
        Err(JobError::new("Stopped", reason.as_str()))
    };
    // Of several lists each is for one run, and the last one for all later runs.
    let steps = match steps.get(run.min(steps.len().saturating_sub(1))) {
        Some(Value::Array(of_this_run)) => of_this_run.clone(),
        _ => steps.to_vec(),
    };
    let mut steps = VecDeque::from(steps);
    while let Some(step) = steps.pop_front() {
        let (name, value) = match &step {
            Value::String(name) => (name.as_str(), &Value::Null),
            step => match step.as_object().and_then(|fields| fields.iter().next()) {
                Some((name, value)) => (name.as_str(), value),
                None => panic!("{step} is no step"),
            },
        };
        let time = || Duration::from_millis(value.as_u64().expect("milliseconds"));
        let text = || value.as_str().unwrap_or_default().to_owned();
        let because = |policy| Err(JobError::new("Policy", ON_PURPOSE).policy(policy));
        match name {
            "return" => return Ok(value.clone()),
            "raise" => {
                let classes = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
                let classes = classes.iter().filter_map(Value::as_str);
                return Err(JobError::with_classes(classes, ON_PURPOSE));
            }
            // Without a message of the panic hook.
            "panic" => std::panic::resume_unwind(Box::new(ON_PURPOSE)),
            "retry_after_ms" => return because(Policy::RetryAfter(time())),
            "discard" => return because(Policy::Discard),
            "bury" => return because(Policy::Bury),
            "snooze_ms" => return Err(JobError::snooze(time())),
            "say" => notes.note(format!("{id} {}", text())),
            "progress" => job.progress(text()).await?,
            "more_time_ms" => job.more_time(time())?,
            "meta" => notes.note(format!("{id} {}={}", text(), job.meta()[&text()])),
            "previous" => {
                let before = job.previous_id().map(String::from_utf8_lossy).unwrap_or_default();
                let result = job.previous::<Value>()?.unwrap_or_default();
                notes.note(format!("{id} previous {before} {result}"));
            }
            "wait" => tokio::select! {
                biased;
                told = notes.told(&id) => told.into_iter().rev().for_each(|s| steps.push_front(s)),
                reason = job.cancelled() => return stopped(reason),
            },
            "sleep_ms" => tokio::select! {
                () = tokio::time::sleep(time()) => {}
                reason = job.cancelled() => return stopped(reason),
            },
            "block_ms" => std::thread::sleep(time()),
            "skip_from" => {
                if u64::from(job.attempt()) >= value.as_u64().expect("an attempt") {
                    steps.pop_front();
                }
            }
            "ignore" => {
                let told = notes.told(&id).await;
                told.into_iter().rev().for_each(|step| steps.push_front(step));
            }
            "cancelled" => {
                let reason = job.cancelled().await;
                notes.note(format!("{id} cancelled {}", reason.as_str()));
            }
            name => panic!("unknown step {name}"),
        }
    }
    Ok(Value::Null)
}

/// Logs the end of a run, also if the handler is dropped.
struct End<'a> {
    id: &'a str,
    notes: &'a Notes,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.notes.log(&format!("{} end", self.id));
    }
}
