//! Children that die, hang, or break the rules.

use std::time::Duration;

use leaseq_jobs::{Children, NewJob};
use serde_json::{Value, json};

use crate::support::{Bench, Steps, forking, gone, pid_in, python, soon};

/// Runs these steps, expects this beginning of the error, and that the next job runs.
async fn fails(children: Children, steps: Value, error: &str) {
    let bench = Bench::new().await;
    let worker = bench.run(children);
    let job = bench.add(steps.clone()).await;
    let text = bench.end_of(&job).await.expect_err("it fails");
    assert!(text.starts_with(error), "{steps}: {text}");
    let next = bench.add(json!([["return", "next"]])).await;
    assert_eq!(bench.end_of(&next).await.unwrap(), "next");
    worker.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_says_why_a_child_has_died() {
    let exit = json!([["error", "a\nno disk\n"], ["exit", 7]]);
    let status = "ChildDied: the child ended with status 7 before its answer\na\nno disk";
    let segfault = json!([["signal", 11]]);
    let killed = json!([["signal", 9]]);
    tokio::join!(
        fails(python(), exit.clone(), status),
        fails(forking(), exit, status),
        fails(python(), segfault.clone(), "ChildDied: the child was killed by SIGSEGV"),
        fails(forking(), segfault, "ChildDied: the child was killed by SIGSEGV"),
        fails(python(), killed.clone(), "ChildDied: the child was killed by SIGKILL"),
        fails(forking(), killed, "ChildDied: the child was killed by SIGKILL"),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_breaks_the_rules_is_replaced() {
    let wrong = "ChildConfused: ";
    let other = json!([["say", {"type": "done", "task": 99}], ["hang"]]);
    let half = json!([["raw", "000000ff7b22"], ["exit", 0]]);
    let endless = json!([["raw", "ffffffff"], ["hang"]]);
    let garbage = json!([["raw", "0000000178"], ["hang"]]);
    tokio::join!(
        fails(python(), other, wrong),
        fails(python(), half, "ChildDied: the child ended with status 0"),
        fails(python(), endless, wrong),
        fails(python(), garbage, wrong),
        fails(python(), json!([["close"]]), "ChildDied: the child was killed by SIGKILL"),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_counts_whatever_happens_afterwards() {
    let done = json!({"type": "done", "result": 17});
    for after in [json!(["exit", 1]), json!(["signal", 9]), json!(["say", done]), json!(["close"])]
    {
        let bench = Bench::new().await;
        let worker = bench.run(python());
        let job = bench.add(json!([["say", done], after])).await;
        assert_eq!(bench.end_of(&job).await.unwrap(), 17, "{after}");
        let next = bench.add(json!([["return", "next"]])).await;
        assert_eq!(bench.end_of(&next).await.unwrap(), "next");
        worker.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_floods_its_standard_error_goes_on() {
    let bench = Bench::new().await;
    let worker = bench.run(python());
    let line = "x".repeat(1000);
    let job = bench.add(json!([["error", line, 2000], ["return", 1]])).await;
    assert_eq!(bench.end_of(&job).await.unwrap(), 1);
    worker.end().await;
}

async fn is_killed_after_its_timeout(children: Children, steps: Value) {
    let bench = Bench::new().await;
    let worker =
        bench.run_with(children, |worker| worker.slots(1).kill_after(Duration::from_millis(50)));
    let job = NewJob::new(Steps { steps }).timeout(Duration::from_millis(500)).max_attempts(1);
    let job = bench.add_job(job).await;
    let error = bench.end_of(&job).await.unwrap_err();
    assert_eq!(error, "Timeout: the handler ran for more than 500ms");
    let next = bench.add(json!([["return", "next"]])).await;
    assert_eq!(bench.end_of(&next).await.unwrap(), "next");
    worker.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outlives_its_timeout() {
    let stop = json!([["signal", 19]]);
    tokio::join!(
        is_killed_after_its_timeout(python(), json!([["hang"]])),
        is_killed_after_its_timeout(forking(), json!([["hang"]])),
        is_killed_after_its_timeout(python(), json!([["block"]])),
        is_killed_after_its_timeout(python(), stop.clone()),
        is_killed_after_its_timeout(forking(), stop),
        is_killed_after_its_timeout(python(), json!([["ignore_term"], ["hang"]])),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn grandchildren_end_with_the_job_that_is_killed() {
    for children in [python(), forking()] {
        let bench = Bench::new().await;
        let kill_after = Duration::from_millis(50);
        let worker = bench.run_with(children, |worker| worker.slots(1).kill_after(kill_after));
        let path = bench.path("grandchild");
        let steps = json!([["grandchild", path, "inherit"], ["hang"]]);
        let job = NewJob::new(Steps { steps }).timeout(Duration::from_secs(2)).max_attempts(1);
        let job = bench.add_job(job).await;
        let grandchild = pid_in(&path).await;
        bench.end_of(&job).await.unwrap_err();
        gone(grandchild).await;
        worker.end().await;
    }
}

/// Before the job is reported, so that the next run of it meets nothing that this one has left.
#[tokio::test(flavor = "multi_thread")]
async fn grandchildren_end_with_a_child_that_dies_and_with_a_forked_job_that_ends() {
    for (children, then) in [
        (python(), json!(["exit", 1])),
        (python().max_jobs(1), json!(["return", 1])),
        (forking(), json!(["return", 1])),
    ] {
        let bench = Bench::new().await;
        let worker = bench.run(children);
        let path = bench.path("grandchild");
        let job = bench.add(json!([["grandchild", path], then])).await;
        let grandchild = pid_in(&path).await;
        _ = bench.end_of(&job).await;
        // Killed, if perhaps not dead to the last byte.
        let killed = std::time::Instant::now();
        gone(grandchild).await;
        assert!(killed.elapsed() < Duration::from_secs(1), "{:?}", killed.elapsed());
        worker.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_memory_is_an_error_with_the_limit() {
    let limit = 100 << 20;
    for children in [python(), forking()] {
        let error = "OutOfMemory: the child used ";
        fails(children.memory_limit(limit), json!([["allocate", 200]]), error).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_job_ends_and_one_that_ignores_it_is_killed() {
    let bench = Bench::new().await;
    let worker = bench.run_with(python(), |worker| {
        worker.slots(2).kill_after(Duration::from_millis(50)).lease(Duration::from_secs(2))
    });
    let (hears, ignores) = (bench.path("hears"), bench.path("ignores"));
    let first = bench.add(json!([["write", hears], ["until_cancelled"]])).await;
    let second = bench.add(json!([["write", ignores], ["block"]])).await;
    pid_in(&hears).await;
    let child = pid_in(&ignores).await;
    first.queue().cancel_many([first.id(), second.id()]).await.unwrap();
    gone(child).await;
    // It has succeeded before it was cancelled, as the queue sees it.
    assert_eq!(bench.end_of(&first).await.unwrap(), "cancelled");
    soon(worker.end()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_speaks_without_end_hears_its_cancellation() {
    let bench = Bench::new().await;
    let worker = bench.run_with(python(), |worker| worker.slots(1).lease(Duration::from_secs(2)));
    let path = bench.path("pid");
    let job = bench.add(json!([["write", path], ["flood"], ["return", "heard"]])).await;
    pid_in(&path).await;
    job.queue().cancel_many([job.id()]).await.unwrap();
    assert_eq!(bench.end_of(&job).await.unwrap(), "heard");
    worker.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forked_process_that_hangs_after_its_answer_ends_with_what_it_has_started() {
    let bench = Bench::new().await;
    let worker = bench.run(forking());
    let (path, own) = (bench.path("grandchild"), bench.path("own"));
    let steps = json!([["write", own], ["grandchild", path], ["hang_in_exit"], ["return", 1]]);
    let job = bench.add(steps).await;
    assert_eq!(bench.end_of(&job).await.unwrap(), 1);
    let next = bench.add(json!([["return", "next"]])).await;
    assert_eq!(bench.end_of(&next).await.unwrap(), "next");
    gone(pid_in(&own).await).await;
    gone(pid_in(&path).await).await;
    worker.end().await;
}
