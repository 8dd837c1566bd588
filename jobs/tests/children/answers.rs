//! Jobs whose children answer.

use std::time::Duration;

use leaseq_jobs::{NewJob, Retry};
use serde_json::json;

use crate::support::{Bench, Steps, forking, python, soon, until};

#[tokio::test]
async fn a_child_runs_one_job_after_the_other() {
    let bench = Bench::new().await;
    let worker = bench.run(python());
    let first = bench.add(json!([["pid"]])).await;
    let second = bench.add(json!([["pid"]])).await;
    let pid = bench.end_of(&first).await.unwrap();
    assert_eq!(bench.end_of(&second).await.unwrap(), pid);
    let exit = worker.end().await;
    assert_eq!(exit.started, 2);
}

#[tokio::test]
async fn a_loaded_child_forks_for_each_job() {
    let bench = Bench::new().await;
    let worker = bench.run(forking());
    let first = bench.add(json!([["pid"]])).await;
    let second = bench.add(json!([["pid"]])).await;
    let pid = bench.end_of(&first).await.unwrap();
    assert_ne!(bench.end_of(&second).await.unwrap(), pid);
    worker.end().await;
}

#[tokio::test]
async fn a_child_knows_its_job() {
    let bench = Bench::new().await;
    let worker = bench.run(python());
    let steps = Steps { steps: json!([["about"]]) };
    let job = NewJob::new(steps).id("né 1").meta("trace", "00-1").retry(Retry::new(4));
    let job = bench.add_job(job).await;
    assert_eq!(
        bench.end_of(&job).await.unwrap(),
        json!({
            "queue": "steps", "id": "né 1", "id_hex": "6ec3a92031", "attempt": 1, "max_attempts": 4,
            "meta": {"trace": "00-1"},
        })
    );
    let steps = Steps { steps: json!([["about"]]) };
    let job = bench.add_job(NewJob::new(steps).id(&b"\xff\0"[..])).await;
    let about = bench.end_of(&job).await.unwrap();
    assert_eq!((about.get("id"), &about["id_hex"]), (None, &json!("ff00")));
    worker.end().await;
}

#[tokio::test]
async fn an_error_has_its_classes_and_its_trace() {
    for children in [python(), forking()] {
        let bench = Bench::new().await;
        let worker = bench.run(children);
        let job = bench.add(json!([["raise", "OutOfInk", "no more ink"]])).await;
        let error = bench.end_of(&job).await.unwrap_err();
        assert!(error.starts_with("OutOfInk: no more ink\nTraceback"), "{error}");
        assert_eq!(bench.end_of(&bench.add(json!([["return", 5]])).await).await.unwrap(), 5);
        worker.end().await;
    }
}

#[tokio::test]
async fn a_child_says_what_happens_next() {
    let bench = Bench::new().await;
    let worker = bench.run(python());
    let say = |message| json!([["say", message], ["hang"]]);
    let buried = json!({"type": "failed", "classes": ["A"], "message": "b", "policy": "bury"});
    let job = bench.add(say(buried)).await;
    assert_eq!(bench.end_of(&job).await.unwrap_err(), "A: b");
    let worker_too = bench.run(python());
    let discarded =
        json!({"type": "failed", "classes": ["A"], "message": "b", "policy": "discard"});
    let job = bench.add(json!([["say", discarded]])).await;
    bench.end_of(&job).await.unwrap();
    worker.end().await;
    worker_too.end().await;
}

#[tokio::test]
async fn progress_and_more_time_reach_the_worker() {
    let bench = Bench::new().await;
    let worker = bench.run(python());
    let path = bench.path("told");
    let steps = json!([
        ["say", {"type": "more_time", "ms": 600_000}],
        ["say", {"type": "progress", "progress": "half"}],
        ["write", path],
        ["until_cancelled"],
    ]);
    let job = NewJob::new(Steps { steps }).timeout(Duration::from_secs(5));
    let job = bench.add_job(job).await;
    let progress = soon(async {
        loop {
            if let Some(progress) = bench.get(&job).await.progress {
                return progress;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert_eq!(progress.await, "half");
    until(|| path.exists().then_some(())).await;
    worker.end().await;
}

#[tokio::test]
async fn a_large_job_and_a_large_result_fit() {
    let bench = Bench::new().await;
    let worker = bench.run(python());
    // As JSON in ASCII, it takes three times as much.
    let text = "é".repeat(1 << 20);
    let job = bench.add(json!([["return", text]])).await;
    assert_eq!(bench.end_of(&job).await.unwrap(), text);
    worker.end().await;
}
