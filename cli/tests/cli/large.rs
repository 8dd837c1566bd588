//! Large queues: work goes in steps of bounded memory, is interrupted and goes on where it was. A million items at night.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::{Child, Stdio};
use std::time::Duration;

use leaseq::WorkQueue;
use leaseq_test_support::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::Bench;

const LONG: Duration = Duration::from_secs(1_800);
/// What a command may need, in KiB, however many items there are.
const MEMORY: u64 = 200 << 10;

fn size() -> usize {
    if std::env::var_os("LEASEQ_STRESS").is_some() { 1_000_000 } else { 8_000 }
}

/// Runs the program until this has happened, and interrupts it. Returns where it can be continued.
async fn interrupted(bench: &Bench, args: &[&str], begun: impl AsyncFn() -> bool) -> String {
    let args = [args, &["--json"]].concat();
    let path = bench.folder.path().join("out");
    let out = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    let child = bench.command(&args).stdout(out).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(LONG, begun).await, "{args:?}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert!(memory(&child) < MEMORY, "{args:?}: {} KiB", memory(&child));
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{args:?}: {text}");
    let error: Value = serde_json::from_str(&text).unwrap();
    error["error"]["continue"].as_str().unwrap_or_else(|| panic!("{text}")).to_owned()
}

/// The most memory that a process had, in KiB; 0 if it has ended.
fn memory(child: &Child) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim_end_matches("kB").trim().parse().unwrap())
}

async fn dead(queue: &WorkQueue) -> u64 {
    queue.counts().await.unwrap().dead
}

#[tokio::test(flavor = "multi_thread")]
async fn many_items_are_moved_and_changed_in_steps() {
    let many = size();
    for bench in Bench::all() {
        let queue = bench.queue("q").await;
        let (part, all) = (many as u64 / 8, many as u64);
        let mut lines = String::new();
        for n in 0..many {
            writeln!(lines, "{{\"id\":\"i{n}\",\"data\":\"{n}\"}}").unwrap();
        }
        std::fs::write(bench.folder.path().join("many"), &lines).unwrap();
        let added = async || queue.counts().await.unwrap().ready >= part;
        let place = interrupted(&bench, &["import", "q", "many"], added).await;
        let rest = bench.json(&["import", "q", "many", "--skip", &place]);
        assert_eq!(rest["existing"], 0, "it goes on exactly where it was: {rest}");
        assert_eq!(queue.counts().await.unwrap().ready, all);

        let bury = ["bury", "q", "--state", "ready", "--yes"];
        let place = interrupted(&bench, &bury, async || dead(&queue).await >= part).await;
        assert!(dead(&queue).await < all);
        bench.run(&[&bury[..], &["--continue", &place]].concat()).ok();
        assert_eq!(dead(&queue).await, all);
        let groups = bench.json(&["dead", "q", "--group"]);
        assert_eq!((&groups[0]["count"], groups.as_array().unwrap().len()), (&all.into(), 1));
        let found = bench.json(&["items", "q", "--state", "dead", "--where", "nowhere"]);
        assert_eq!(found["examined"].as_u64().unwrap(), all.min(20_000), "a search is bounded");

        std::fs::write(bench.folder.path().join("out"), "").unwrap();
        let written = || std::fs::metadata(bench.folder.path().join("out")).unwrap().len();
        let export = ["export", "q", "--state", "dead"];
        let place = interrupted(&bench, &export, async || written() > part * 100).await;
        let place: Vec<&str> = place.split(' ').collect();
        let first = std::fs::read_to_string(bench.folder.path().join("out")).unwrap();
        let rest = bench.run(&[&["export", "q"], &place[..]].concat()).ok();
        let ids: Vec<String> = first.lines().chain(rest.out.lines()).map(id).collect();
        assert_eq!((ids.len(), ids.iter().collect::<BTreeSet<_>>().len()), (many, many));

        let purge = ["purge", "q", "--state", "dead", "--yes", "--save", "saved"];
        let place = interrupted(&bench, &purge, async || dead(&queue).await <= all - part).await;
        bench.run(&[&purge[..], &["--continue", &place]].concat()).ok();
        let saved = std::fs::read_to_string(bench.folder.path().join("saved")).unwrap();
        let ids: BTreeSet<String> = saved.lines().map(id).collect();
        assert_eq!((ids.len(), dead(&queue).await), (many, 0));
    }
}

fn id(line: &str) -> String {
    let value: Value = serde_json::from_str(line).unwrap();
    value["id"].as_str().unwrap().to_owned()
}
