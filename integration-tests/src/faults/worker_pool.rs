//! The processes that produce and work: one for each slot, in all languages. Faults may kill them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::history::Outcome;
use super::recorder::Recorder;
use crate::conformance::testee::{Answer, Failure, Language, Testee};
use crate::error::Error;

/// How long a call that is retried for at most 10 s may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long healing and draining may take. They take seconds.
pub(super) const HEALED: Duration = Duration::from_secs(60);
const START: Duration = Duration::from_secs(60);
/// The name of the one client of each process.
const CLIENT: &str = "w";
pub(super) const QUEUE: &str = "q";

/// How to start a process.
#[derive(Clone)]
pub(super) struct ProcessSpec {
    pub(super) language: Language,
    pub(super) url: String,
    pub(super) environment: Vec<(&'static str, PathBuf)>,
}

/// A place for a process. A killed process is replaced.
pub(super) struct WorkerSlot {
    /// `python 2`.
    pub(super) name: String,
    spec: std::sync::Mutex<ProcessSpec>,
    process: watch::Sender<Option<Arc<Testee>>>,
}

pub(super) struct WorkerPool {
    pub(super) worker_slots: Vec<Arc<WorkerSlot>>,
}

/// The answer of a process; `None` if it died before it could answer.
pub(super) type Told = Option<Answer>;

impl WorkerPool {
    pub(super) async fn start(specs: Vec<ProcessSpec>) -> Result<Self, Error> {
        let mut worker_slots = Vec::new();
        for (i, spec) in specs.into_iter().enumerate() {
            let name = format!("{} {}", spec.language.name, i + 1);
            let (process, _) = watch::channel(None);
            worker_slots.push(Arc::new(WorkerSlot { name, spec: spec.into(), process }));
        }
        // All at once, because most of the time is spent waiting for interpreters.
        let starts: Vec<_> = worker_slots
            .iter()
            .map(|worker_slot| {
                let worker_slot = worker_slot.clone();
                tokio::spawn(async move { worker_slot.fill().await })
            })
            .collect();
        for start in starts {
            start.await??;
        }
        Ok(WorkerPool { worker_slots })
    }

    /// The slots whose processes support this.
    pub(super) fn able(&self, what: &str) -> Vec<Arc<WorkerSlot>> {
        let able = |worker_slot: &&Arc<WorkerSlot>| {
            let process = worker_slot.process.borrow().clone();
            process.is_some_and(|process| process.abilities.iter().any(|can| can == what))
        };
        self.worker_slots.iter().filter(able).cloned().collect()
    }

    /// Ends every process; each must exit with 0.
    pub(super) async fn end(self) -> Result<(), Error> {
        for worker_slot in self.worker_slots {
            let Some(process) = worker_slot.process.send_replace(None) else { continue };
            let mut process = Some(process);
            let end = Instant::now() + START;
            // The last answer may still be in flight to its caller.
            let whole = loop {
                match Arc::try_unwrap(process.take().ok_or("a process was used twice")?) {
                    Ok(whole) => break whole,
                    Err(shared) if Instant::now() < end => process = Some(shared),
                    Err(_) => return Err(format!("{} is still in use", worker_slot.name).into()),
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            };
            whole.end().await?;
        }
        Ok(())
    }
}

impl WorkerSlot {
    /// Starts a process that connects. It retries while the server refuses.
    pub(super) async fn fill(&self) -> Result<(), Error> {
        let spec = self.spec();
        let process = Testee::start(&spec.language, &spec.environment).await?;
        let end = Instant::now() + START;
        loop {
            let connect = json!({ "op": "connect", "client": CLIENT, "url": spec.url });
            match process.ask(connect).await?.answer().await? {
                Ok(_) => break,
                Err(failure) if Instant::now() >= end => {
                    return Err(format!("{} cannot connect: {}", self.name, failure.message).into());
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        self.process.send_replace(Some(Arc::new(process)));
        Ok(())
    }

    pub(super) fn spec(&self) -> ProcessSpec {
        self.spec.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// The URL for the next process in this slot.
    pub(super) fn set_url(&self, url: String) {
        self.spec.lock().unwrap_or_else(std::sync::PoisonError::into_inner).url = url;
    }

    /// The process, as soon as there is one; `None` at the end of the run.
    pub(super) async fn process(&self) -> Option<Arc<Testee>> {
        let mut process = self.process.subscribe();
        let filled = process.wait_for(Option::is_some);
        timeout(START, filled).await.ok()?.ok()?.clone()
    }

    /// Kills the process. The slot is empty until it is filled again.
    pub(super) fn kill(&self) -> Result<(), Error> {
        self.signal(Signal::KILL)?;
        self.process.send_replace(None);
        Ok(())
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<(), Error> {
        let process = self.process.borrow().clone();
        if let Some(pid) = process.as_ref().and_then(|process| process.pid()) {
            kill_process(pid, signal)?;
        }
        Ok(())
    }

    /// Open file descriptors and threads of the process, to find leaks.
    pub(super) fn holds(&self) -> Option<(usize, usize)> {
        let process = self.process.borrow().clone()?;
        let of = |what: &str| {
            let folder = format!("/proc/{}/{what}", process.pid()?.as_raw_nonzero());
            Some(std::fs::read_dir(folder).ok()?.count())
        };
        Some((of("fd")?, of("task")?))
    }
}

/// The outcome of a call for one lease, or of the `i`-th of many.
pub(super) fn outcome_of(told: &Told, i: usize) -> Outcome {
    match told {
        None => Outcome::Unknown,
        Some(Err(failure)) if failure.kind == "LEASE_LOST" => Outcome::No,
        Some(Err(failure)) if failure.unknown => Outcome::Unknown,
        Some(Err(_)) => Outcome::NotDone,
        Some(Ok(value)) => match value.get(i).unwrap_or(value) {
            Value::Bool(false) => Outcome::No,
            Value::Object(fields) if fields.contains_key("fails") => Outcome::No,
            _ => Outcome::Yes,
        },
    }
}

/// Sends a process an operation on the queue.
pub(super) async fn ask(process: &Testee, recorder: &Recorder, request: Value) -> Told {
    ask_in(process, recorder, QUEUE, request).await
}

/// Sends a process an operation on the queue of this name.
pub(super) async fn ask_in(
    process: &Testee,
    recorder: &Recorder,
    queue: &str,
    mut request: Value,
) -> Told {
    request["client"] = CLIENT.into();
    request["queue"] = queue.into();
    let pending = process.ask(request.clone()).await.ok()?;
    match timeout(PATIENCE, pending.until_ended()).await {
        Ok(told) => told,
        Err(_) => {
            let language = &process.language;
            recorder.fault(format!("{language} gave no answer in {PATIENCE:?}: {request}"));
            None
        }
    }
}

/// Repeats a request until a process answers; for reading operations such as `check`.
pub(super) async fn insist(
    process: &Testee,
    recorder: &Recorder,
    request: Value,
    for_: Duration,
) -> Result<Value, Error> {
    let end = Instant::now() + for_;
    loop {
        match ask(process, recorder, request.clone()).await {
            Some(Ok(value)) => return Ok(value),
            Some(Err(Failure { kind, message, .. })) if Instant::now() >= end => {
                return Err(format!("{request}: {kind}: {message}").into());
            }
            Some(Err(_)) => tokio::time::sleep(Duration::from_millis(50)).await,
            None => return Err(format!("{request}: the process has ended").into()),
        }
    }
}
