//! Jobs as JavaScript sees them: JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use leaseq_jobs::Task;
use serde::Serialize;
use serde_json::{Value, json};

/// A job without its arguments.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct About<'a> {
    number: u32,
    name: &'a str,
    queue: &'a str,
    id: Cow<'a, str>,
    attempt: u32,
    max_attempts: u32,
    generation: u64,
    last_error: &'a str,
    meta: &'a BTreeMap<String, String>,
    previous: Option<Previous<'a>>,
    /// Why it is to stop already.
    stop: Option<&'static str>,
}

/// The job whose end has added this one.
#[derive(Serialize)]
struct Previous<'a> {
    id: Cow<'a, str>,
    result: Option<Cow<'a, str>>,
}

impl<'a> About<'a> {
    fn of(number: u32, task: &'a Task) -> Self {
        About {
            number,
            name: task.name(),
            queue: task.queue(),
            id: String::from_utf8_lossy(task.id()),
            attempt: task.attempt(),
            max_attempts: task.max_attempts(),
            generation: task.generation(),
            last_error: task.last_error(),
            meta: task.meta(),
            previous: task.trigger().map(|previous| Previous {
                id: String::from_utf8_lossy(previous.id()),
                result: previous.result().map(|result| String::from_utf8_lossy(result)),
            }),
            stop: task.cancel_reason().map(|reason| reason.as_str()),
        }
    }
}

/// A list of jobs with their arguments, which are JSON already.
#[derive(Default)]
pub(super) struct Jobs {
    pub(super) count: usize,
    text: Vec<u8>,
}

impl Jobs {
    pub(super) fn add(&mut self, number: u32, task: &Task) {
        self.text.push(if self.count == 0 { b'[' } else { b',' });
        self.count += 1;
        // All of it has a form in JSON, and there is always memory to write to.
        _ = serde_json::to_writer(&mut self.text, &About::of(number, task));
        // The arguments become its last field.
        self.text.pop();
        self.text.extend_from_slice(b",\"args\":");
        self.text.extend_from_slice(task.args());
        self.text.push(b'}');
    }

    /// In bytes.
    pub(super) fn size(&self) -> usize {
        self.text.len()
    }

    pub(super) fn into_json(mut self) -> Vec<u8> {
        self.text.extend_from_slice(if self.count == 0 { b"[]" } else { b"]" });
        self.text
    }
}

/// What has happened to a job in a child.
pub(super) fn event_of(kind: &str, task: &Task) -> Value {
    let args = String::from_utf8_lossy(task.args());
    json!({ "kind": kind, "job": About::of(0, task), "args": args })
}
