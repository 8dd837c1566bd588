//! Signals to a worker that is a process: this test program, which runs the test [`process`].

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use leaseq::{Client, State};
use leaseq_jobs::{Context, Job, JobError, JobRef, Producer, Worker};
use leaseq_test_support::{RedisServer, eventually};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Echo, PATIENCE};

const URL: &str = "LEASEQ_TEST_WORKER_URL";
const GRACE: &str = "LEASEQ_TEST_WORKER_GRACE_MS";
/// For tests in which it must not end by itself.
const LONG: Duration = Duration::from_secs(600);

/// Not a test, but the worker of the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a process of other tests"]
async fn process() {
    let Ok(url) = std::env::var(URL) else { return };
    let grace = std::env::var(GRACE).unwrap().parse().unwrap();
    let client = Client::connect(&url).await.unwrap();
    let worker = Worker::new(&client).lease(Duration::from_secs(2));
    worker
        .grace(Duration::from_millis(grace))
        .handle(|echo: Echo, job: Context| async move {
            job.progress("started").await?;
            if echo.text == "stops" {
                job.cancelled().await;
                return Err(JobError::new("Stopped", ""));
            }
            std::future::pending::<Result<(), _>>().await
        })
        .handle_blocking(|_: Hang, job: Context| -> Result<(), _> {
            job.progress_blocking("started")?;
            loop {
                std::thread::park();
            }
        })
        .run_process()
        .await
}

/// A job whose handler blocks its thread for ever.
#[derive(serde::Serialize, serde::Deserialize)]
struct Hang {}

impl Job for Hang {
    const NAME: &'static str = "test.hang";
    const QUEUE: &'static str = "echo";
}

/// A worker process and its client.
struct Process {
    client: Client,
    child: Child,
    /// Of its file.
    folder: Option<tempfile::TempDir>,
}

impl Process {
    async fn start(grace: Duration) -> Process {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("queue.db").display());
        let mut process = Process::start_on(&url, grace).await;
        process.folder = Some(folder);
        process
    }

    async fn start_on(url: &str, grace: Duration) -> Process {
        let client = Client::connect(url).await.unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "signals::process"])
            .env(URL, url)
            .env(GRACE, grace.as_millis().to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Process { client, child, folder: None }
    }

    /// Adds a job, and waits until its handler runs.
    async fn runs(&self, job: impl Into<leaseq_jobs::NewJob>) -> JobRef {
        let job = Producer::new(&self.client).enqueue(job).await.unwrap();
        let is_running =
            async || job.queue().get(job.id()).await.unwrap().unwrap().progress.is_some();
        assert!(eventually(PATIENCE, is_running).await);
        job
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    async fn ends(&mut self) -> ExitStatus {
        let mut status = None;
        let ended = async || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        };
        assert!(eventually(PATIENCE, ended).await, "the worker does not end");
        status.unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
        drop(self.folder.take());
    }
}

async fn state(job: &JobRef) -> (State, u32, Option<String>) {
    let item = job.queue().get(job.id()).await.unwrap().unwrap();
    (item.state, item.failures + item.expiries, item.releases.map(|releases| releases.reason))
}

#[tokio::test]
async fn a_signal_ends_the_worker_after_the_grace_period_and_no_job_loses_an_attempt() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut worker = Process::start(Duration::from_millis(200)).await;
        let stops = worker.runs(Echo::named("stops")).await;
        let waits = worker.runs(Echo::named("waits")).await;
        let hangs = worker.runs(Hang {}).await;
        worker.signal(signal);
        assert_eq!(worker.ends().await.code(), Some(0));
        let interrupted = Some("shutdown".to_owned());
        assert_eq!(state(&stops).await, (State::Ready, 0, interrupted.clone()));
        assert_eq!(state(&waits).await, (State::Ready, 0, interrupted.clone()));
        // Its thread may still have run for a moment.
        assert_eq!(state(&hangs).await, (State::Delayed, 0, interrupted));
    }
}

#[tokio::test]
async fn a_second_signal_skips_the_grace_period() {
    let mut worker = Process::start(LONG).await;
    let stops = worker.runs(Echo::named("stops")).await;
    worker.signal(Signal::TERM);
    // It leases nothing more, so it has got the first.
    let is_draining = async || {
        let late = Producer::new(&worker.client).enqueue(Echo::named("stops")).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        state(&late).await.0 == State::Ready
    };
    assert!(eventually(PATIENCE, is_draining).await);
    assert_eq!(state(&stops).await.0, State::Leased);
    let begun = Instant::now();
    worker.signal(Signal::TERM);
    assert_eq!(worker.ends().await.code(), Some(0));
    assert!(begun.elapsed() < PATIENCE);
    assert_eq!(state(&stops).await.0, State::Ready);
}

#[tokio::test]
async fn a_third_signal_ends_the_worker_at_once_and_the_leases_expire() {
    let mut worker = Process::start(LONG).await;
    let hangs = worker.runs(Hang {}).await;
    // Signals of one kind that arrive together are one.
    let third = async || {
        worker.signal(Signal::TERM);
        worker.child.try_wait().unwrap().is_some()
    };
    let begun = Instant::now();
    assert!(eventually(PATIENCE, third).await);
    // The second one alone takes 3 s.
    assert!(begun.elapsed() < Duration::from_secs(3));
    assert_eq!(worker.ends().await.code(), Some(1));
    assert_eq!(state(&hangs).await.0, State::Leased);
}

#[tokio::test]
async fn the_jobs_of_a_killed_worker_are_delivered_again() {
    let mut worker = Process::start(LONG).await;
    let job = worker.runs(Echo::named("waits")).await;
    worker.signal(Signal::KILL);
    worker.ends().await;
    let other = Worker::new(&worker.client).handle(crate::support::nothing);
    let ended = async { _ = job.outcome(PATIENCE).await };
    other.run_until(ended).await.unwrap();
    assert_eq!(state(&job).await, (State::Completed, 1, None));
}

#[tokio::test]
async fn a_worker_that_was_stopped_loses_its_jobs_and_goes_on() {
    let server = RedisServer::start();
    let mut worker = Process::start_on(&server.url(), Duration::ZERO).await;
    let job = worker.runs(Echo::named("waits")).await;
    worker.signal(Signal::STOP);
    let other = Worker::new(&worker.client).handle(crate::support::nothing);
    let ended = async { _ = job.outcome(PATIENCE).await };
    other.run_until(ended).await.unwrap();
    assert_eq!(state(&job).await, (State::Completed, 1, None));
    worker.signal(Signal::CONT);
    let next = worker.runs(Echo::named("stops")).await;
    worker.signal(Signal::TERM);
    assert_eq!(worker.ends().await.code(), Some(0));
    assert_eq!(state(&next).await.0, State::Ready);
    assert_eq!(state(&job).await, (State::Completed, 1, None));
}
