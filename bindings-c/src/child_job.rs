//! A job in this process, which is a child of a worker.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use leaseq_jobs::{Finish, Policy, Reason};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::child_link::Link;
use crate::event::Event;
use crate::failure::{Failure, Result};
use crate::task::{Job, Previous, called, leaseq_settled, leaseq_task};

/// The longest time that a handler may ask for.
const MAX_TIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// What a worker says: each kind has some of these.
#[derive(Deserialize)]
pub(crate) struct Frame {
    pub(crate) r#type: String,
    #[serde(default)]
    pub(crate) task: u64,
    #[serde(default)]
    pub(crate) reason: String,
    #[serde(default)]
    job: String,
    #[serde(default)]
    queue: String,
    #[serde(default)]
    id_hex: String,
    args: Option<Box<RawValue>>,
    #[serde(default)]
    meta: BTreeMap<String, String>,
    #[serde(default)]
    attempt: u32,
    #[serde(default)]
    max_attempts: u32,
    #[serde(default)]
    last_error: String,
    #[serde(default)]
    generation: u64,
    #[serde(default)]
    timeout_ms: u64,
    previous: Option<PreviousFrame>,
}

/// The job whose end has added this one.
#[derive(Deserialize)]
struct PreviousFrame {
    id_hex: String,
    result: Option<String>,
}

pub(crate) struct ChildJob {
    link: Arc<Link>,
    run: Frame,
    id: Vec<u8>,
    state: Mutex<State>,
}

struct State {
    deadline: Instant,
    reason: Option<Reason>,
    is_answered: bool,
    /// Set when there is a reason.
    event: Option<Event>,
}

impl ChildJob {
    pub(crate) fn new(link: Arc<Link>, run: Frame) -> Self {
        let deadline = Instant::now() + Duration::from_millis(run.timeout_ms).min(MAX_TIME);
        let state = State { deadline, reason: None, is_answered: false, event: None };
        ChildJob { link, id: bytes_of(&run.id_hex), run, state: Mutex::new(state) }
    }

    pub(crate) fn number(&self) -> u64 {
        self.run.task
    }

    /// A task for the caller.
    pub(crate) fn task(self: Arc<Self>) -> leaseq_task {
        let run = &self.run;
        let args = run.args.as_ref().map_or("{}", |args| args.get());
        let names = (run.job.as_str(), run.queue.as_str());
        let previous = run.previous.as_ref().map(|previous| {
            let result = previous.result.as_deref().map(str::as_bytes);
            Previous::new(&bytes_of(&previous.id_hex), result)
        });
        leaseq_task::new(self.clone(), names, args.as_bytes(), &run.last_error, previous)
    }

    /// It is to stop.
    pub(crate) fn cancel(&self, reason: Reason) {
        let mut state = self.state();
        if state.reason.is_none() {
            state.reason = Some(reason);
            if let Some(event) = &state.event {
                event.set();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wrong(&self, what: &str) -> Failure {
        let about = called(&self.run.queue, &self.run.job, &self.id);
        Failure::invalid(format_args!("{about}: {what}"))
    }

    /// The answer, or why it cannot be given. A result goes as it is.
    fn answer(&self, finish: Finish) -> Result<Box<RawValue>> {
        let task = self.number();
        let answer = match finish {
            Finish::Done { result: None } => json!({ "type": "done", "task": task }),
            Finish::Done { result: Some(result) } => {
                let result = serde_json::from_slice(&result)
                    .map_err(|why| self.wrong(&format!("its result is no JSON: {why}")))?;
                return self.written(&Done { kind: "done", task, result });
            }
            Finish::Failed(error) => {
                let (policy, delay) = match error.wants() {
                    Policy::RetryAfter(delay) => ("retry_after", delay),
                    Policy::Discard => ("discard", Duration::ZERO),
                    Policy::Bury => ("bury", Duration::ZERO),
                    _ => ("retry", Duration::ZERO),
                };
                json!({
                    "type": "failed", "task": task, "classes": error.classes(),
                    "message": error.message(), "policy": policy, "ms": ms(delay),
                })
            }
            Finish::Snooze(delay) => json!({ "type": "snooze", "task": task, "ms": ms(delay) }),
            Finish::InvalidArgs(message) => {
                json!({ "type": "invalid_args", "task": task, "message": message })
            }
            _ => json!({ "type": "cancelled", "task": task }),
        };
        self.written(&answer)
    }

    fn written(&self, answer: &impl Serialize) -> Result<Box<RawValue>> {
        to_raw_value(answer).map_err(|why| self.wrong(&format!("its end cannot be written: {why}")))
    }
}

/// The answer with a result, which no value of Rust could hold without changing it: think of long numbers.
#[derive(Serialize)]
struct Done<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    task: u64,
    result: &'a RawValue,
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn bytes_of(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or("00"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap_or_default()).collect()
}

impl Job for ChildJob {
    fn id(&self) -> &[u8] {
        &self.id
    }

    fn meta(&self, name: &str) -> &str {
        self.run.meta.get(name).map_or("", String::as_str)
    }

    fn attempt(&self) -> u32 {
        self.run.attempt
    }

    fn max_attempts(&self) -> u32 {
        self.run.max_attempts
    }

    fn generation(&self) -> u64 {
        self.run.generation
    }

    fn deadline(&self) -> Instant {
        self.state().deadline
    }

    fn cancel_reason(&self) -> Option<Reason> {
        self.state().reason
    }

    fn cancelled_fd(&self) -> Result<i32> {
        let mut state = self.state();
        if state.event.is_none() {
            let event = Event::new("a task")?;
            if state.reason.is_some() {
                event.set();
            }
            state.event = Some(event);
        }
        Ok(state.event.as_ref().map_or(-1, Event::fd))
    }

    fn more_time(&self, time: Duration) -> Result {
        if time > MAX_TIME {
            return Err(self.wrong("more than 30 days of time"));
        }
        let mut state = self.state();
        if state.is_answered || state.reason.is_some() {
            return Err(self.wrong("its time is over"));
        }
        state.deadline = Instant::now() + time;
        let message = json!({ "type": "more_time", "task": self.number(), "ms": ms(time) });
        self.link.send(&message)
    }

    fn progress(&self, progress: &[u8]) -> Result {
        let text = std::str::from_utf8(progress);
        let text = text.map_err(|_| self.wrong("its progress is not UTF-8"))?;
        // Behind the answer it would be about no job.
        let state = self.state();
        if state.is_answered {
            return Err(self.wrong("the task was finished before"));
        }
        let message = json!({ "type": "progress", "task": self.number(), "progress": text });
        self.link.send(&message)
    }

    fn finish(&self, finish: Finish, _: bool) -> Result<leaseq_settled> {
        let mut state = self.state();
        if state.is_answered {
            return Err(self.wrong("the task was finished before"));
        }
        let answer = self.answer(finish)?;
        self.link.send(&answer)?;
        // An answer that was refused, as it is too long, leaves room for another one.
        state.is_answered = true;
        Ok(leaseq_settled::LEASEQ_SETTLED_NONE)
    }
}
