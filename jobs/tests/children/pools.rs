//! Starting, replacing and ending children.

use std::path::Path;
use std::time::Duration;

use leaseq_jobs::{Children, NewJob};
use serde_json::json;

use crate::support::{Bench, Steps, gone, pid_in, python, soon, until};

const CHILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/children/child.py");

/// Children that a script of the shell starts.
fn shell(script: &str) -> Children {
    Children::new("sh").args(["-c", script]).env("PYTHONDONTWRITEBYTECODE", "1")
}

/// How many lines children have appended to a file at their starts.
fn lines(log: &Path) -> usize {
    std::fs::read_to_string(log).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn a_program_that_cannot_start_is_an_error() {
    let bench = Bench::new().await;
    let start = async |children: Children| {
        let worker = leaseq_jobs::Worker::new(&bench.client).children(children);
        worker.run_until_idle().await.unwrap_err().to_string()
    };
    let missing = start(Children::new("/nowhere/worker")).await;
    assert!(
        missing.contains("child \"/nowhere/worker\": it cannot be started: No such file"),
        "{missing}"
    );
    let silent = start(Children::new("sh").args(["-c", "echo oh no >&2; exit 3"])).await;
    assert!(silent.ends_with("it ended with status 3; its last line: oh no"), "{silent}");
    let slow = Children::new("sleep").arg("600").start_timeout(Duration::from_millis(50));
    assert!(start(slow).await.ends_with("it was not ready after 50ms"));
    let other =
        start(Children::new("sh").args(["-c", "printf '\\0\\0\\0\\2{}' >&0; sleep 600"])).await;
    assert!(other.contains("what it says is no message"), "{other}");
    let newer = r#"printf '\0\0\0\43{"type":"hello","version":2,"a":10}' >&0; sleep 600"#;
    let newer = start(Children::new("sh").args(["-c", newer])).await;
    assert!(newer.ends_with("it speaks version 2, this worker version 1"), "{newer}");
    assert!(start(python().max_jobs(0)).await.contains("after 0 jobs"));
}

/// Somebody who cleans up, or a machine without memory, does not end a worker that has just begun.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_child_that_is_killed_is_started_again() {
    let bench = Bench::new().await;
    let log = bench.path("starts");
    let kills_itself = |times: usize| {
        let count =
            format!("echo >>{0}; [ $(wc -l <{0}) -gt {times} ] || kill -9 $$", log.display());
        shell(&format!("{count}; exec python3 {CHILD}"))
    };
    let worker = bench.run(kills_itself(3));
    assert_eq!(bench.end_of(&bench.add(json!([["return", 7]])).await).await.unwrap(), 7);
    worker.end().await;
    assert!(lines(&log) >= 4);
    std::fs::remove_file(&log).unwrap();
    let worker = leaseq_jobs::Worker::new(&bench.client).children(kills_itself(1_000));
    let error = worker.run_until_idle().await.unwrap_err().to_string();
    assert!(error.ends_with("it was killed by SIGKILL"), "{error}");
    assert_eq!(lines(&log), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_is_replaced_after_its_last_job() {
    let bench = Bench::new().await;
    let worker = bench.run(python().max_jobs(2));
    let mut pids = Vec::new();
    for _ in 0..5 {
        let job = bench.add(json!([["pid"]])).await;
        pids.push(bench.end_of(&job).await.unwrap().as_i64().unwrap());
    }
    assert_eq!((pids[0], pids[2]), (pids[1], pids[3]), "{pids:?}");
    assert!(pids[0] != pids[2] && pids[2] != pids[4], "{pids:?}");
    gone(pids[0] as i32).await;
    worker.end().await;
    gone(pids[4] as i32).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_has_grown_is_replaced() {
    let bench = Bench::new().await;
    let worker = bench.run(python().max_memory(100 << 20));
    let mut pids = Vec::new();
    for mebibytes in [1, 150, 1] {
        let job = bench.add(json!([["leak", mebibytes]])).await;
        pids.push(bench.end_of(&job).await.unwrap());
    }
    assert!(pids[0] == pids[1] && pids[1] != pids[2], "{pids:?}");
    worker.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_child_that_dies_is_replaced() {
    let bench = Bench::new().await;
    let worker = bench.run(python());
    let pid = bench.end_of(&bench.add(json!([["pid"]])).await).await.unwrap().as_i64().unwrap();
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let job = bench.add(json!([["return", 1]])).await;
    assert_eq!(bench.end_of(&job).await.unwrap(), 1);
    let item = bench.get(&job).await;
    assert_eq!(item.failures + item.expiries, 0);
    worker.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_slot_has_a_child() {
    let bench = Bench::new().await;
    let worker = bench.run_with(python(), |worker| worker.slots(3));
    let paths = [1, 2, 3].map(|n| bench.path(&n.to_string()));
    for path in &paths {
        bench.add(json!([["write", path], ["until_cancelled"]])).await;
    }
    for path in &paths {
        pid_in(path).await;
    }
    let exit = worker.end().await;
    assert_eq!((exit.started, exit.running), (3, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_killed_children_are_released_at_the_end_of_the_worker() {
    let bench = Bench::new().await;
    let worker = bench.run(python());
    let path = bench.path("started");
    let job = bench.add(json!([["write", path], ["block"]])).await;
    let child = pid_in(&path).await;
    soon(worker.end()).await;
    assert!(!crate::support::runs(child));
    let item = bench.get(&job).await;
    assert_eq!(item.state, leaseq::State::Ready);
    assert_eq!(item.failures + item.expiries, 0);
}

/// Children that fail to start after the first one do not stop the others, and are not started without end.
#[tokio::test(flavor = "multi_thread")]
async fn starts_that_fail_wait_longer_each_time() {
    let bench = Bench::new().await;
    let (log, once) = (bench.path("starts"), bench.path("once"));
    let script = format!(
        "echo . >> {log}; mkdir {once} 2>/dev/null || exit 1; exec python3 {CHILD}",
        log = log.display(),
        once = once.display(),
    );
    let worker = bench.run_with(shell(&script), |worker| worker.slots(100));
    let starts = || lines(&log);
    until(|| (starts() >= 4).then_some(())).await;
    let begun = std::time::Instant::now();
    let first = bench.add(json!([["pid"]])).await;
    bench.end_of(&first).await.unwrap();
    until(|| (starts() >= 7).then_some(())).await;
    // 0.1 s, 0.2 s, 0.4 s … between them, with one start under way for each processor.
    let processors = std::thread::available_parallelism().unwrap().get();
    let seconds = begun.elapsed().as_secs_f64() + 1.0;
    assert!((starts() as f64) < (seconds * 10.0).log2() + 3.0 + processors as f64, "{}", starts());
    worker.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_child_dies_before_it_starts_goes_to_the_next_one() {
    for fork in [None, Some("--fork")] {
        let bench = Bench::new().await;
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/children/unlucky.py");
        let children = Children::new("python3").arg(program).args(fork);
        let children = children.env("PYTHONDONTWRITEBYTECODE", "1").env("LUCK", bench.path("luck"));
        let worker = bench.run(children);
        let job = NewJob::new(Steps { steps: json!([["return", 1]]) }).max_attempts(1);
        let job = bench.add_job(job).await;
        assert_eq!(bench.end_of(&job).await.unwrap(), 1);
        assert!(bench.path("luck").exists());
        let exit = worker.end().await;
        assert_eq!((exit.started, exit.running), (1, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_idle_child_costs_no_attempt() {
    let bench = Bench::new().await;
    let worker = bench.run(python());
    let pid = bench.end_of(&bench.add(json!([["pid"]])).await).await.unwrap().as_i64().unwrap();
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let job = NewJob::new(Steps { steps: json!([["return", 1]]) }).max_attempts(1);
    let job = bench.add_job(job).await;
    assert_eq!(bench.end_of(&job).await.unwrap(), 1);
    worker.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_is_not_ready_does_not_delay_the_end() {
    let bench = Bench::new().await;
    let worker = bench.run(python());
    let answer = json!({"type": "done", "result": 1});
    let path = bench.path("pid");
    let job = bench.add(json!([["write", path], ["say", answer], ["hang"]])).await;
    assert_eq!(bench.end_of(&job).await.unwrap(), 1);
    let begun = std::time::Instant::now();
    worker.end().await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    gone(pid_in(&path).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_whose_children_cannot_start_ends_with_the_reason() {
    let bench = Bench::new().await;
    let once = bench.path("once");
    let script = format!(
        "mkdir {once} 2>/dev/null || {{ echo no license >&2; exit 1; }}; exec python3 {CHILD}",
        once = once.display(),
    );
    // The only child that starts dies with its job.
    let steps = Steps { steps: json!([["exit", 1]]) };
    let job = bench.add_job(NewJob::new(steps).max_attempts(9)).await;
    let worker = leaseq_jobs::Worker::new(&bench.client).slots(2).children(shell(&script));
    let error = soon(worker.run_until_idle()).await.unwrap_err().to_string();
    assert!(
        error.ends_with(
            "6 starts have failed, the last one: it ended with status 1; its last line: no license"
        ),
        "{error}"
    );
    let item = bench.get(&job).await;
    assert_eq!((item.failures, item.expiries), (1, 0));
    assert_ne!(item.state, leaseq::State::Leased);
}

#[tokio::test]
async fn a_worker_can_end_while_its_first_child_starts() {
    let bench = Bench::new().await;
    let pid = bench.path("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600", pid.display());
    let worker = bench.run(shell(&script));
    let child = pid_in(&pid).await;
    let exit = worker.end().await;
    assert_eq!((exit.started, exit.status()), (0, 0));
    gone(child).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_behind_a_wrapper_runs_jobs_and_is_killed() {
    let bench = Bench::new().await;
    let wrapper = shell(&format!("python3 {CHILD}; exit $?"));
    let worker = bench.run_with(wrapper, |worker| worker.slots(1).kill_after(Duration::ZERO));
    let pid = bench.end_of(&bench.add(json!([["pid"]])).await).await.unwrap();
    let job = NewJob::new(Steps { steps: json!([["block"]]) }).timeout(Duration::from_millis(200));
    let job = bench.add_job(job.max_attempts(1)).await;
    bench.end_of(&job).await.unwrap_err();
    gone(pid.as_i64().unwrap() as i32).await;
    worker.end().await;
}

/// They start at once in the next child; while none can be started, others run them.
#[tokio::test(flavor = "multi_thread")]
async fn prefetched_jobs_wait_for_the_next_child_but_not_for_long() {
    let bench = Bench::new().await;
    let (block, log) = (bench.path("block"), bench.path("starts"));
    let script = format!(
        "test -e {block} && exit 1; echo . >> {log}; exec python3 {CHILD}",
        block = block.display(),
        log = log.display(),
    );
    let mut jobs = Vec::new();
    for n in 0..6 {
        jobs.push(bench.add(json!([["return", n]])).await);
    }
    let children = shell(&script).max_jobs(1);
    let worker = bench.run_with(children, |worker| worker.slots(1).prefetch(2));
    for (n, job) in jobs.iter().enumerate() {
        assert_eq!(bench.end_of(job).await.unwrap(), n);
        let item = bench.get(job).await;
        assert_eq!(item.failures + item.expiries, 0);
    }
    // The next child is not to find the file.
    until(|| (lines(&log) == 7).then_some(())).await;
    std::fs::write(&block, "").unwrap();
    let last = bench.add(json!([["pid"]])).await;
    bench.end_of(&last).await.unwrap();
    let waiting = bench.add(json!([["return", 7]])).await;
    let other = bench.run(python());
    assert_eq!(bench.end_of(&waiting).await.unwrap(), 7);
    other.end().await;
    worker.end().await;
}

/// Not even if a job has seen its child die and waits for the next one.
#[tokio::test(flavor = "multi_thread")]
async fn prefetched_jobs_do_not_wait_behind_a_job_that_waits_for_a_child() {
    let bench = Bench::new().await;
    let luck = bench.path("luck");
    let script = format!(
        "test -e {luck} && exit 1; exec python3 {child}",
        luck = luck.display(),
        child = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/children/unlucky.py"),
    );
    let first = bench.add(json!([["return", 0]])).await;
    let waiting =
        [bench.add(json!([["return", 1]])).await, bench.add(json!([["return", 2]])).await];
    let children = shell(&script).env("LUCK", &luck);
    let worker = bench.run_with(children, |worker| worker.slots(1).prefetch(2));
    until(|| luck.exists().then_some(())).await;
    let other = bench.run(python());
    for (n, job) in (1..).zip(&waiting) {
        assert_eq!(bench.end_of(job).await.unwrap(), n);
    }
    // Nor does that one wait for ever.
    assert_eq!(bench.end_of(&first).await.unwrap(), 0);
    assert_eq!(bench.get(&first).await.failures, 0);
    worker.end().await;
    other.end().await;
}
