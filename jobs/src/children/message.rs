//! What a worker and its children say to each other: JSON objects, each in a frame.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use leaseq::{Result, Trigger};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::envelope::RetryFields;
use crate::{Finish, JobError, JobOptions, Policy, Reason, Retry, RetryRules, Task};

/// The version of the protocol.
pub(super) const VERSION: u64 = 1;

/// What a worker says.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ToChild<'a> {
    Run {
        task: u64,
        job: &'a str,
        queue: &'a str,
        /// If it is text.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        id_hex: String,
        args: &'a RawValue,
        meta: &'a BTreeMap<String, String>,
        attempt: u32,
        max_attempts: u32,
        last_error: &'a str,
        generation: u64,
        timeout_ms: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        previous: Option<Previous<'a>>,
    },
    Cancel {
        task: u64,
        reason: &'static str,
    },
    Stop,
}

/// The job whose end has added this one.
#[derive(Debug, Serialize)]
pub(super) struct Previous<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    id_hex: String,
    /// If it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
}

impl<'a> Previous<'a> {
    fn new(trigger: &'a Trigger) -> Self {
        let result = trigger.result().and_then(|result| std::str::from_utf8(result).ok());
        Previous { id: text(trigger.id()), id_hex: hex(trigger.id()), result }
    }
}

fn text(id: &[u8]) -> Option<&str> {
    std::str::from_utf8(id).ok()
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a child says.
pub(super) enum FromChild {
    /// It has loaded its handlers.
    Hello { version: u64, jobs: BTreeMap<String, Declared> },
    /// It can take a job.
    Ready,
    /// Something about the job with this number.
    Job(u64, About),
}

/// What a child says about a job.
pub(super) enum About {
    /// Its handler runs, in this process if it is another one than the child.
    Started(Option<i32>),
    Progress(String),
    MoreTime(Duration),
    Ended(Finish),
}

/// A frame of a child, of which each type has some of the fields.
#[derive(Deserialize)]
struct Frame {
    r#type: Type,
    #[serde(default)]
    version: u64,
    #[serde(default)]
    jobs: BTreeMap<String, Declared>,
    #[serde(default)]
    task: u64,
    pid: Option<i32>,
    #[serde(default)]
    progress: String,
    #[serde(default)]
    ms: u64,
    result: Option<Box<RawValue>>,
    #[serde(default)]
    classes: Vec<String>,
    #[serde(default)]
    message: String,
    trace: Option<String>,
    #[serde(default)]
    policy: FailurePolicy,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Type {
    Hello,
    Ready,
    Started,
    Progress,
    MoreTime,
    Done,
    Failed,
    Snooze,
    Cancelled,
    InvalidArgs,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FailurePolicy {
    #[default]
    Retry,
    RetryAfter,
    Discard,
    Bury,
}

impl FromChild {
    pub(super) fn read(frame: &[u8]) -> serde_json::Result<FromChild> {
        let frame: Frame = serde_json::from_slice(frame)?;
        let task = frame.task;
        let about = match frame.r#type {
            Type::Hello => {
                return Ok(FromChild::Hello { version: frame.version, jobs: frame.jobs });
            }
            Type::Ready => return Ok(FromChild::Ready),
            Type::Started => About::Started(frame.pid),
            Type::Progress => About::Progress(frame.progress),
            Type::MoreTime => About::MoreTime(frame.time()),
            Type::Done => About::Ended(Finish::Done { result: frame.result() }),
            Type::Failed => About::Ended(Finish::Failed(frame.error())),
            Type::Snooze => About::Ended(Finish::Snooze(frame.time())),
            Type::Cancelled => About::Ended(Finish::Cancelled),
            Type::InvalidArgs => About::Ended(Finish::InvalidArgs(frame.message)),
        };
        Ok(FromChild::Job(task, about))
    }
}

impl Frame {
    fn time(&self) -> Duration {
        Duration::from_millis(self.ms)
    }

    /// `null` is no result.
    fn result(self) -> Option<Bytes> {
        self.result.map(|json| Bytes::from(String::from(Box::<str>::from(json))))
    }

    fn error(self) -> JobError {
        let policy = match self.policy {
            FailurePolicy::Retry => Policy::Retry,
            FailurePolicy::RetryAfter => Policy::RetryAfter(self.time()),
            FailurePolicy::Discard => Policy::Discard,
            FailurePolicy::Bury => Policy::Bury,
        };
        let error = JobError::with_classes(self.classes, self.message).policy(policy);
        match self.trace {
            Some(trace) => error.trace(trace),
            None => error,
        }
    }
}

/// A job that a child has a handler for.
#[derive(Deserialize)]
pub(crate) struct Declared {
    queue: Option<String>,
    timeout_ms: Option<u64>,
    retry: Option<RetryFields>,
}

impl Declared {
    pub(crate) fn queue(&self) -> &str {
        self.queue.as_deref().unwrap_or("default")
    }

    pub(crate) fn options(self) -> JobOptions {
        let mut options = JobOptions::new();
        if let Some(ms) = self.timeout_ms {
            options.timeout = Duration::from_millis(ms);
        }
        if let Some(retry) = self.retry {
            options.retry = RetryRules::from(retry).over(&Retry::default());
        }
        options
    }
}

impl ToChild<'_> {
    pub(super) fn write(&self) -> Result<Bytes> {
        let json = serde_json::to_vec(self).map_err(|error| {
            leaseq::Error::invalid(format_args!("a message to a child: {error}"))
        })?;
        Ok(json.into())
    }

    /// The frame that starts a task.
    pub(super) fn run(number: u64, task: &Task) -> Result<Bytes> {
        let args = serde_json::from_slice(task.args())
            .map_err(|error| leaseq::Error::invalid(format_args!("{task:?}: {error}")))?;
        let left = task.soft_deadline().saturating_duration_since(std::time::Instant::now());
        let run = ToChild::Run {
            task: number,
            job: task.name(),
            queue: task.queue(),
            id: text(task.id()),
            id_hex: hex(task.id()),
            args,
            meta: task.meta(),
            attempt: task.attempt(),
            max_attempts: task.max_attempts(),
            last_error: task.last_error(),
            generation: task.generation(),
            timeout_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            previous: task.trigger().map(Previous::new),
        };
        run.write()
    }

    pub(super) fn cancel(number: u64, reason: Reason) -> Result<Bytes> {
        ToChild::Cancel { task: number, reason: reason.as_str() }.write()
    }
}
