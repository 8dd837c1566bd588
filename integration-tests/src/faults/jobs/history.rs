//! What a run with workers has recorded. Times are microseconds since 1970; all processes are on one machine.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970.
pub(super) type Micros = u64;

pub(super) const MS: Micros = 1_000;

pub(super) fn now() -> Micros {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// A job whose add was acknowledged.
#[derive(Debug, Clone, Default)]
pub(super) struct Job {
    pub(super) id: String,
    /// The key that limits how many run at the same time.
    pub(super) key: Option<&'static str>,
    pub(super) max_attempts: u32,
    /// Its failures ask for a retry after this time.
    pub(super) retry_after: Option<Micros>,
    /// Its handler buries it.
    pub(super) buries: bool,
    /// No worker can run it.
    pub(super) is_unknown: bool,
    /// When its cancellation was acknowledged.
    pub(super) cancelled: Option<Micros>,
}

/// One run of a handler.
#[derive(Debug, Clone)]
pub(super) struct Run {
    /// Its index in the history.
    pub(super) worker: usize,
    pub(super) id: String,
    pub(super) attempt: u32,
    pub(super) start: Micros,
    /// `None`: it ended with its process.
    pub(super) end: Option<Micros>,
    /// Why and when the handler was cancelled.
    pub(super) told: Option<(String, Micros)>,
    /// Limits that it has found exceeded at its start, and when: of a run in a child.
    pub(super) over: Vec<(String, Micros)>,
}

/// A worker process.
#[derive(Debug, Clone, Default)]
pub(super) struct Worker {
    /// When its end was noticed.
    pub(super) ended: Option<Micros>,
    /// Whether it had no chance to give back its jobs.
    pub(super) abrupt: bool,
    /// When it was stopped, and continued.
    pub(super) stops: Vec<(Micros, Micros)>,
}

/// An item of the queue at the end.
#[derive(Debug, Clone, Default)]
pub(super) struct Left {
    pub(super) state: String,
    pub(super) failures: u64,
    pub(super) expiries: u64,
    /// How often in a row it was released for one reason.
    pub(super) releases: u64,
    pub(super) result: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Handlers of a worker at the same time.
    pub(super) slots: usize,
    /// Handlers of a key at the same time.
    pub(super) key: usize,
    /// Handlers in children watch the limits themselves: when a killed child has ended is not known, but its locks are
    /// free then.
    pub(super) by_locks: bool,
}

#[derive(Debug, Clone)]
pub(super) struct History {
    pub(super) jobs: Vec<Job>,
    pub(super) runs: Vec<Run>,
    pub(super) workers: Vec<Worker>,
    /// When the server did not answer.
    pub(super) windows: Vec<(Micros, Micros)>,
    /// By id.
    pub(super) left: BTreeMap<String, Left>,
    pub(super) limits: Limits,
}

impl History {
    /// When the handler certainly did not run any more.
    pub(super) fn end_of(&self, run: &Run) -> Micros {
        run.end.or(self.workers[run.worker].ended).unwrap_or(Micros::MAX)
    }

    /// What is known about a job, for messages.
    pub(super) fn of(&self, id: &str) -> String {
        let mut text = String::new();
        let job = self.jobs.iter().find(|job| job.id == id);
        text += &format!("  {job:?}\n");
        for run in self.runs.iter().filter(|run| run.id == id) {
            text += &format!("  {run:?}, worker {:?}\n", self.workers[run.worker]);
        }
        text + &format!("  at the end {:?}", self.left.get(id))
    }
}
