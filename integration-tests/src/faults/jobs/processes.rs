//! The processes of a run, and looking for those that are left behind.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::history::Worker;

/// Names the run in the environment of every process that it has started, and the worker among them.
pub(super) const RUN: &str = "LEASEQ_TESTEE_RUN";
/// Marks a process that a handler has started.
const GRANDCHILD: &str = "LEASEQ_TESTEE_GRANDCHILD";
/// Exists while children are not to start.
pub(super) const NO_STARTS: &str = "LEASEQ_TESTEE_NO_STARTS";

/// How long the system may take to end what was killed.
const ENDING: Duration = Duration::from_secs(5);

/// A process of a run.
pub(super) struct Process {
    pub(super) pid: Pid,
    /// The number of its worker.
    worker: usize,
    /// Whether a handler has started it.
    pub(super) is_grandchild: bool,
    command: String,
}

impl Process {
    /// Whether it belongs to the same worker, and runs the same program with the same arguments.
    pub(super) fn looks_like(&self, other: &Process) -> bool {
        (self.worker, &self.command) == (other.worker, &other.command)
    }
}

/// All processes of a run that live.
pub(super) fn find(run: &str) -> Vec<Process> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(environment) = fs::read_to_string(entry.path().join("environ")) else { continue };
        let value = |name: &str| {
            let of = |line: &str| line.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
            environment.split('\0').find_map(of)
        };
        let Some((of, worker)) = value(RUN)
            .as_deref()
            .and_then(|run| run.rsplit_once(':'))
            .map(|(of, worker)| (of.to_owned(), worker.parse().ok()))
        else {
            continue;
        };
        let (Some(pid), Some(worker)) = (Pid::from_raw(pid), worker) else { continue };
        if of == run {
            let command = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            let is_grandchild = value(GRANDCHILD).is_some();
            let command = command.replace('\0', " ");
            found.push(Process { pid, worker, is_grandchild, command });
        }
    }
    found
}

/// What is left of a run when its workers have ended; it is killed. What a handler has started may outlive a worker that
/// was killed, because nobody is left to end it.
pub(super) async fn left_behind(run: &str, workers: &[Worker]) -> Vec<String> {
    let is_wrong = |found: &Process| !(found.is_grandchild && workers[found.worker].abrupt);
    let end = Instant::now() + ENDING;
    let left = loop {
        let left = find(run);
        if !left.iter().any(is_wrong) || Instant::now() >= end {
            break left;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let mut faults = BTreeSet::new();
    for found in left {
        if is_wrong(&found) {
            faults.insert(format!("worker {} has left behind: {}", found.worker, found.command));
        }
        _ = kill_process(found.pid, Signal::KILL);
    }
    faults.into_iter().collect()
}
