//! Workers with children as processes, which are killed, stopped and terminated: this test program, which runs the test
//! [`process`].

use std::collections::HashSet;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use leaseq::{Client, LeaseOptions, State};
use leaseq_jobs::{JobRef, NewJob, Producer, Worker};
use leaseq_test_support::{ControlGroup, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{PATIENCE, Steps, forking, gone, pid_in, python};

const URL: &str = "LEASEQ_TEST_WORKER_URL";
const FORKS: &str = "LEASEQ_TEST_WORKER_FORKS";
const LEASE: Duration = Duration::from_secs(1);

/// Not a test, but the worker of the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a process of other tests"]
async fn process() {
    let Ok(url) = std::env::var(URL) else { return };
    let client = Client::connect(&url).await.unwrap();
    let children = if std::env::var(FORKS).is_ok() { forking() } else { python() };
    let worker = Worker::new(&client).slots(1).lease(LEASE).children(children);
    let kill_after = Duration::from_millis(50);
    worker.kill_after(kill_after).grace(Duration::from_millis(200)).run_process().await
}

/// A worker process and its client.
struct Process {
    client: Client,
    worker: Child,
    folder: TempDir,
}

impl Process {
    async fn start(forks: bool) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--ignored", "workers::process"]);
        Process::start_as(command, forks).await
    }

    async fn start_as(mut command: Command, forks: bool) -> Process {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("queue.db").display());
        let client = Client::connect(&url).await.unwrap();
        command.env(URL, url).stdout(Stdio::null()).process_group(0);
        if forks {
            command.env(FORKS, "1");
        }
        let worker = command.spawn().unwrap();
        Process { client, worker, folder }
    }

    /// Adds a job that runs until it is cancelled, or for ever. Returns it, and the process that runs it.
    async fn runs(&self, step: &str) -> (JobRef, i32) {
        let path = self.folder.path().join("pid");
        let job = self.add(json!([["write", path], [step]])).await;
        (job, pid_in(&path).await)
    }

    async fn add(&self, steps: Value) -> JobRef {
        Producer::new(&self.client).enqueue(Steps { steps }).await.unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.worker), signal).unwrap();
    }

    /// Its exit status.
    fn wait(&mut self) -> Option<i32> {
        self.worker.wait().unwrap().code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.worker.kill();
        _ = self.worker.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn children_end_with_their_worker_however_it_ends() {
    for forks in [false, true] {
        for step in ["block", "until_cancelled"] {
            let mut process = Process::start(forks).await;
            let (_, child) = process.runs(step).await;
            process.signal(Signal::KILL);
            process.wait();
            gone(child).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_terminated_kills_and_then_releases() {
    for forks in [false, true] {
        let mut process = Process::start(forks).await;
        let (job, child) = process.runs("block").await;
        process.signal(Signal::TERM);
        assert_eq!(process.wait(), Some(0));
        assert!(!crate::support::runs(child));
        let item = job.queue().get(job.id()).await.unwrap().unwrap();
        assert_eq!((item.state, item.failures + item.expiries), (State::Ready, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_whose_job_another_worker_has_is_killed() {
    let mut process = Process::start(false).await;
    let (job, child) = process.runs("block").await;
    process.signal(Signal::STOP);
    let lease = job
        .queue()
        .lease(LeaseOptions::new(PATIENCE).wait(PATIENCE))
        .await
        .unwrap()
        .expect("the lease of the worker expires");
    assert_eq!(lease.attempt(), 2);
    assert!(crate::support::runs(child));
    process.signal(Signal::CONT);
    gone(child).await;
    assert!(job.queue().complete(&lease).await.unwrap());
    process.signal(Signal::TERM);
    assert_eq!(process.wait(), Some(0));
}

/// The system would reap them unseen, and they would inherit it.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_was_started_with_sigchld_ignored_sees_how_children_end() {
    let mut command = Command::new("python3");
    let exec = "import os, signal, sys\n\
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n\
        os.execv(sys.argv[1], sys.argv[1:])";
    command.args(["-c", exec]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "workers::process"]);
    let mut process = Process::start_as(command, false).await;
    let job = process.add(json!([["exit", 7]])).await;
    let error = async || job.queue().get(job.id()).await.unwrap().unwrap().last_error;
    assert!(eventually(PATIENCE, async || !error().await.is_empty()).await);
    assert_eq!(error().await, "ChildDied: the child ended with status 7 before its answer");
    process.signal(Signal::TERM);
    process.wait();
}

/// Children come and go, and nobody reads what they write.
#[tokio::test(flavor = "multi_thread")]
async fn a_standard_error_that_nobody_reads_blocks_one_thread() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "workers::process", "--nocapture"]);
    command.stderr(Stdio::piped());
    let mut process = Process::start_as(command, false).await;
    let tasks = format!("/proc/{}/task", process.worker.id());
    let threads = || std::fs::read_dir(&tasks).unwrap().count();
    let mut first = None;
    for _ in 0..12 {
        // More than fits into the pipe. The job ends by its timeout, and with it its child.
        let job = NewJob::new(Steps { steps: json!([["error", "x".repeat(1000), 400]]) });
        let job = job.timeout(Duration::from_millis(200)).max_attempts(1);
        let job = Producer::new(&process.client).enqueue(job).await.unwrap();
        let state = async || job.queue().get(job.id()).await.unwrap().unwrap().state;
        let ended = async || matches!(state().await, State::Dead | State::Completed);
        assert!(eventually(PATIENCE, ended).await, "{:?}", state().await);
        first.get_or_insert_with(threads);
    }
    let first = first.unwrap();
    assert!(threads() <= first + 4, "{} threads, {first} before", threads());
    process.signal(Signal::TERM);
    process.wait();
}

/// How many times longer the tests of leaks take than in every run.
fn stress() -> usize {
    std::env::var("LEASEQ_STRESS").map_or(1, |times| times.parse().unwrap())
}

/// The descriptors and threads of this process.
fn own() -> (usize, usize) {
    let count = |folder| std::fs::read_dir(format!("/proc/self/{folder}")).unwrap().count();
    (count("fd"), count("task"))
}

/// For every job another child, of which half die.
#[tokio::test(flavor = "multi_thread")]
async fn no_descriptor_no_thread_and_no_zombie_is_left() {
    let jobs = 40 * stress();
    let bench = crate::support::Bench::new().await;
    let worker = bench.run(python().max_jobs(1));
    let mut first = None;
    let mut last = 0;
    for i in 0..jobs {
        let step = if i % 2 == 0 { json!(["pid"]) } else { json!(["exit", 1]) };
        let job = bench.add(json!([step])).await;
        if let Ok(pid) = bench.end_of(&job).await {
            last = pid.as_i64().unwrap() as i32;
        }
        if i == 5 {
            first = Some(own());
        }
    }
    // Other tests of this program run at the same time. A leak in every job is more, and in a long run one in some.
    is_not_more(first.unwrap(), (jobs / 2).min(200));
    worker.end().await;
    assert!(
        eventually(PATIENCE, async || !std::fs::exists(format!("/proc/{last}")).unwrap()).await
    );
}

fn is_not_more((descriptors, threads): (usize, usize), slack: usize) {
    let (now, tasks) = own();
    assert!(now < descriptors + slack, "{now} descriptors, {descriptors} before");
    assert!(tasks < threads + slack, "{tasks} threads, {threads} before");
}

/// Of a day's worth of jobs, if there is time: one a second with `LEASEQ_STRESS=173`.
#[tokio::test(flavor = "multi_thread")]
async fn no_descriptor_no_thread_and_no_zombie_is_left_by_reused_children() {
    let bench = crate::support::Bench::new().await;
    let worker = bench.run_with(python().max_jobs(50), |worker| worker.slots(2).prefetch(8));
    let mut first = None;
    let mut pids = HashSet::new();
    for _ in 0..stress() {
        let steps = || NewJob::new(Steps { steps: json!([["pid"]]) });
        let producer = Producer::new(&bench.client);
        let jobs = producer.enqueue_many((0..500).map(|_| steps())).await.unwrap();
        // Those of earlier children may belong to other processes by now.
        pids.clear();
        for job in &jobs {
            pids.insert(bench.end_of(job).await.unwrap().as_i64().unwrap());
        }
        first.get_or_insert_with(own);
    }
    is_not_more(first.unwrap(), 100);
    // Each has run 50 jobs; the first and the last ones have run some of other rounds.
    assert!((10..=14).contains(&pids.len()), "{} children", pids.len());
    worker.end().await;
    for pid in pids {
        gone(pid as i32).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_system_runs_out_of_memory() {
    let Some(group) = ControlGroup::new(200 << 20, 0) else {
        eprintln!("no control group with a limit can be made here: not tested");
        return;
    };
    let mut command = group.command(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "workers::process"]);
    let mut process = Process::start_as(command, false).await;
    let job = process.add(json!([["allocate", 400]])).await;
    let error = async || {
        let item = job.queue().get(job.id()).await.unwrap().unwrap();
        (item.state == State::Dead).then_some(item.last_error)
    };
    assert!(eventually(PATIENCE, async || error().await.is_some()).await);
    let error = error().await.unwrap();
    assert!(
        error.starts_with(
            "OutOfMemory: the child was killed by the system, which ran out of memory"
        ),
        "{error}"
    );
    process.signal(Signal::TERM);
    process.wait();
}
