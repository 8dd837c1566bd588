//! Children in C and in Rust: the protocol needs no package.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use leaseq_jobs::{Children, NewJob};
use serde_json::json;

use crate::support::{Bench, Steps};

fn in_c(folder: &Path) -> Children {
    let program = folder.join("child");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/children/child.c");
    let flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o"];
    let status = Command::new("cc").args(flags).arg(&program).args([source, "-lcjson"]).status();
    assert!(status.unwrap().success());
    Children::new(program)
}

fn in_rust() -> Children {
    let program = std::env::current_exe().unwrap();
    Children::new(program).args(["--exact", "--ignored", "child::process"])
}

async fn serves(children: Children, deaths: &[(serde_json::Value, &str)]) {
    let bench = Bench::new().await;
    let kill_after = Duration::from_millis(50);
    let worker = bench.run_with(children, |worker| worker.slots(1).kill_after(kill_after));
    let result = json!({"é": [1, null, "x"]});
    for _ in 0..3 {
        let job = bench.add(json!([["return", result]])).await;
        assert_eq!(bench.end_of(&job).await.unwrap(), result);
    }
    let job = bench.add(json!([["raise", "OutOfInk", "no more ink"]])).await;
    assert_eq!(bench.end_of(&job).await.unwrap_err(), "OutOfInk: no more ink");
    for (step, error) in deaths {
        let job = bench.add(json!([step])).await;
        let text = bench.end_of(&job).await.unwrap_err();
        assert!(text.starts_with(error), "{step}: {text}");
    }
    let short = |step: &str| {
        let steps = Steps { steps: json!([[step]]) };
        NewJob::new(steps).timeout(Duration::from_millis(100)).max_attempts(1)
    };
    let job = bench.add_job(short("until_cancelled")).await;
    bench.end_of(&job).await.unwrap();
    let job = bench.add_job(short("block")).await;
    let timeout = "Timeout: the handler ran for more than 100ms";
    assert_eq!(bench.end_of(&job).await.unwrap_err(), timeout);
    let job = bench.add(json!([["return", 1]])).await;
    assert_eq!(bench.end_of(&job).await.unwrap(), 1);
    worker.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_in_c() {
    let folder = tempfile::tempdir().unwrap();
    let deaths = [
        (json!(["exit", 3]), "ChildDied: the child ended with status 3"),
        (json!(["abort"]), "ChildDied: the child was killed by SIGABRT"),
        (json!(["segfault"]), "ChildDied: the child was killed by SIGSEGV"),
    ];
    serves(in_c(folder.path()), &deaths).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_in_rust() {
    let deaths = [
        (json!(["exit", 3]), "ChildDied: the child ended with status 3"),
        (
            json!(["fail"]),
            "ChildDied: the child ended with status 1 before its answer\nthe child has failed",
        ),
    ];
    serves(in_rust(), &deaths).await;
}
