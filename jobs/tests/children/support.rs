//! A worker whose child is the reference in Python.

use std::path::{Path, PathBuf};
use std::time::Duration;

use leaseq::{Client, ItemInfo, OutcomeOptions, State};
use leaseq_jobs::{Children, Exit, Job, JobOptions, JobRef, NewJob, Producer, Worker};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Longer than anything takes here.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What a child does.
#[derive(Serialize, Deserialize)]
pub(crate) struct Steps {
    pub(crate) steps: Value,
}

impl Job for Steps {
    const NAME: &'static str = "test.steps";
    const QUEUE: &'static str = "steps";

    fn options() -> JobOptions {
        JobOptions::new().retain(PATIENCE)
    }
}

pub(crate) fn python() -> Children {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/children/child.py");
    Children::new("python3").arg(program).env("PYTHONDONTWRITEBYTECODE", "1")
}

pub(crate) fn forking() -> Children {
    python().arg("--fork")
}

/// A queue in memory.
pub(crate) struct Bench {
    pub(crate) client: Client,
    folder: TempDir,
}

/// A worker that runs.
pub(crate) struct Running {
    end: oneshot::Sender<()>,
    exit: JoinHandle<leaseq::Result<Exit>>,
}

impl Running {
    pub(crate) async fn end(self) -> Exit {
        self.end.send(()).unwrap();
        soon(self.exit).await.unwrap().unwrap()
    }
}

impl Bench {
    pub(crate) async fn new() -> Bench {
        let client = Client::connect("memory:").await.unwrap();
        Bench { client, folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) async fn add(&self, steps: Value) -> JobRef {
        self.add_job(NewJob::new(Steps { steps })).await
    }

    pub(crate) async fn add_job(&self, job: NewJob) -> JobRef {
        Producer::new(&self.client).enqueue(job).await.unwrap()
    }

    pub(crate) fn run(&self, children: Children) -> Running {
        self.run_with(children, |worker| worker.slots(1))
    }

    pub(crate) fn run_with(
        &self,
        children: Children,
        change: impl FnOnce(Worker) -> Worker,
    ) -> Running {
        let worker = change(Worker::new(&self.client).grace(Duration::ZERO).children(children));
        let (end, ended) = oneshot::channel();
        let exit = tokio::spawn(async move {
            let ended = async {
                // A test that fails drops it.
                _ = ended.await;
            };
            let exit = worker.run_until(ended).await;
            // A test that waits for a job would not see it.
            exit.inspect_err(|error| eprintln!("the worker has failed: {error}"))
        });
        Running { end, exit }
    }

    /// How a job has ended: its result, or its error.
    pub(crate) async fn end_of(&self, job: &JobRef) -> Result<Value, String> {
        let outcome = soon(job.queue().outcome(job.id(), OutcomeOptions::new().wait(PATIENCE)))
            .await
            .unwrap();
        let item = self.get(job).await;
        match item.state {
            State::Completed => {
                let result = item.result.unwrap_or_default();
                Ok(if result.is_empty() {
                    json!(null)
                } else {
                    serde_json::from_slice(&result).unwrap()
                })
            }
            State::Dead => Err(item.last_error),
            state => panic!("{state:?}, {outcome:?}"),
        }
    }

    pub(crate) async fn get(&self, job: &JobRef) -> ItemInfo {
        job.queue().get(job.id()).await.unwrap().expect("the item is there")
    }

    /// A path for a file that a child makes.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Waits for the process id that a child writes into this file.
pub(crate) async fn pid_in(path: &Path) -> i32 {
    until(|| std::fs::read_to_string(path).ok()?.trim().parse().ok()).await
}

/// Whether a process runs: a zombie does not.
pub(crate) fn runs(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit(") ").next().unwrap_or_default().starts_with('Z'))
}

/// Waits until this process has ended.
pub(crate) async fn gone(pid: i32) {
    until(|| (!runs(pid)).then_some(())).await
}

/// Waits for a value.
pub(crate) async fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    soon(async {
        loop {
            if let Some(value) = look() {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it happens in time")
}
