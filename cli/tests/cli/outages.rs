//! A server that fails in the middle of a command.

use std::process::Stdio;
use std::time::Duration;

use leaseq::{Client, Item};
use leaseq_test_support::{Proxy, RedisServer, eventually};

use crate::support::Bench;

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_loses_its_server_says_how_to_go_on() {
    let mut bench = Bench::redis();
    let queue = Client::connect(&bench.url).await.unwrap().queue("q").unwrap();
    let ids: Vec<String> = (0..3_000).map(|n| format!("d{n}")).collect();
    queue.add_items(ids.iter().map(|id| Item::new("x").with_id(id))).await.unwrap();
    queue.bury(&ids, "boom").await.unwrap();
    let proxy = Proxy::start(bench.server.as_ref().unwrap().port()).await;
    bench.url = format!("{}?timeout_ms=500", proxy.url());
    let child = bench
        .command(&["purge", "q", "--state", "dead", "--yes", "--rate", "300", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = async || queue.counts().await.unwrap().dead < 3_000;
    assert!(eventually(Duration::from_secs(30), begun).await);
    proxy.black_hole_new(true);
    proxy.black_hole();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(error["error"]["kind"], "UNAVAILABLE");
    let place = error["error"]["continue"].as_str().unwrap().to_owned();
    proxy.heal();
    let left = queue.counts().await.unwrap().dead;
    assert!(left > 0 && left < 3_000);
    bench.run(&["purge", "q", "--state", "dead", "--yes", "--continue", &place]).ok();
    assert_eq!(queue.counts().await.unwrap().dead, 0);
}

#[test]
fn a_server_that_is_away_is_an_error_at_once() {
    let mut bench = Bench::redis();
    bench.server.as_mut().unwrap().kill();
    for args in [
        &["queues"][..],
        &["status"],
        &["add", "q", "x"],
        &["doctor"],
        &["work", "q", "--", "true"],
    ] {
        let run = bench.run(&[&["--json"], args].concat());
        assert_eq!((run.status, &run.error()["kind"]), (2, &"UNAVAILABLE".into()), "{args:?}");
        assert_eq!(run.error()["outcome_unknown"], false);
    }
}

/// A server that keeps what it has confirmed.
pub(crate) fn durable() -> Bench {
    let mut bench = Bench::redis();
    let server =
        RedisServer::builder().arg("--appendonly", "yes").arg("--appendfsync", "always").start();
    bench.url = format!("{}?timeout_ms=1000", server.url());
    bench.server = Some(server);
    bench
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_in_the_middle_loses_nothing() {
    let mut bench = durable();
    let queue = bench.queue("q").await;
    let lines: String =
        (0..40_000).map(|n| format!("{{\"id\":\"i{n}\",\"data\":\"\"}}\n")).collect();
    std::fs::write(bench.folder.path().join("lines"), lines).unwrap();
    let ready = async || queue.counts().await.is_ok_and(|counts| counts.ready >= 1_000);
    let error = killed_during(&mut bench, &["import", "q", "lines"], ready).await;
    let place = error["continue"].as_str().unwrap();
    bench.run(&["import", "q", "lines", "--skip", place]).ok();
    assert_eq!(queue.counts().await.unwrap().ready, 40_000);
    let bury = ["bury", "q", "--state", "ready", "--yes"];
    let begun = async || queue.counts().await.is_ok_and(|counts| counts.dead >= 1_000);
    let error = killed_during(&mut bench, &bury, begun).await;
    assert_eq!(error["kind"], "UNAVAILABLE", "{error}");
    let place = error["continue"].as_str().unwrap();
    bench.run(&[&bury[..], &["--continue", place]].concat()).ok();
    assert_eq!(queue.counts().await.unwrap().dead, 40_000);
}

/// Runs a command, and kills the server when this has happened. Returns its error, after the server is back.
async fn killed_during(
    bench: &mut Bench,
    args: &[&str],
    begun: impl AsyncFn() -> bool,
) -> serde_json::Value {
    let mut command = bench.command(&[args, &["--json"]].concat());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(Duration::from_secs(60), begun).await);
    bench.server.as_mut().unwrap().kill();
    let output = child.wait_with_output().unwrap();
    bench.server.as_mut().unwrap().restart_with_whole_log();
    assert_eq!(output.status.code(), Some(3), "{args:?}: {output:?}");
    let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    error["error"].clone()
}
