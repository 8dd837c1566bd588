//! What the handlers of a worker have done, and what they are to do next.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::Write;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::sync::Notify;

use crate::lock;

#[derive(Default)]
pub(super) struct Notes {
    /// Where each note also goes.
    log: Mutex<Option<File>>,
    seen: Mutex<Vec<String>>,
    /// How often each job has run.
    runs: Mutex<HashMap<String, usize>>,
    /// Steps for each job.
    told: Mutex<HashMap<String, VecDeque<Vec<Value>>>>,
    changed: Notify,
}

impl Notes {
    pub(super) fn log_to(&self, path: &str) {
        let file = File::options().create(true).append(true).open(path);
        *lock(&self.log) = Some(file.expect("a log"));
    }

    pub(super) fn note(&self, what: String) {
        self.log(&what);
        lock(&self.seen).push(what);
    }

    /// In one write, so that no kill can mix lines.
    pub(super) fn log(&self, what: &str) {
        if let Some(file) = lock(&self.log).as_mut() {
            let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
            file.write_all(format!("{at} {what}\n").as_bytes()).expect("the log");
        }
    }

    pub(super) fn seen(&self) -> Value {
        lock(&self.seen).clone().into()
    }

    /// The number of this run of the job, from 0.
    pub(super) fn count_run(&self, job: &str) -> usize {
        let mut runs = lock(&self.runs);
        let count = runs.entry(job.to_owned()).or_default();
        *count += 1;
        *count - 1
    }

    pub(super) fn tell(&self, request: &Value) {
        let job = request["job"].as_str().unwrap_or_default().to_owned();
        let steps = request["steps"].as_array().cloned().unwrap_or_default();
        lock(&self.told).entry(job).or_default().push_back(steps);
        self.changed.notify_waiters();
    }

    /// The next steps that the job is told.
    pub(super) async fn told(&self, job: &str) -> Vec<Value> {
        loop {
            let changed = self.changed.notified();
            let steps = lock(&self.told).get_mut(job).and_then(VecDeque::pop_front);
            match steps {
                Some(steps) => return steps,
                None => changed.await,
            }
        }
    }
}
