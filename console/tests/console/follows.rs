//! Pages in a real browser while others work: `make test-console` runs it.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use leaseq::{Beat, Item, LeaseOptions, RunningItem, WorkerId};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::support::{Engine, TOKENS, bury};

/// Items of the queue that is searched.
const LARGE: u64 = 20_000;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: make test-console"]
async fn pages_follow_what_happens() {
    let engine = Engine::redis();
    let server = engine.server.as_ref().unwrap();
    let (queue, late, large) =
        (engine.queue("mail").await, engine.queue("late").await, engine.queue("large").await);
    queue.add_item(Item::new("x").delay(Duration::from_secs(3_600))).await.unwrap();
    late.add_item(Item::new("x")).await.unwrap();
    let bulk = engine.queue("bulk").await;
    for id in ["x", "y", "z"] {
        bury(&bulk, id, "x", "timed out").await;
    }
    for first in (0..LARGE).step_by(1_000) {
        let item = |n: u64| match n + 1 {
            LARGE => Item::new("the last one").with_id("last"),
            _ => Item::new(format!("number {n}")),
        };
        large.add_items((first..first + 1_000).map(item)).await.unwrap();
    }
    let console = engine.console().await;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let argument = json!({
        "url": format!("http://{}/", console.address),
        "token": TOKENS[2].1,
        "large": "20,000",
        "folder": root.join("../build/console"),
    });
    let mut browser = tokio::process::Command::new("node")
        .arg(root.join("browser/live.mjs"))
        .arg(argument.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut answers = browser.stdin.take().unwrap();
    let mut lines = BufReader::new(browser.stdout.take().unwrap()).lines();
    let mut held = HashMap::new();
    let running = |id: &str| RunningItem {
        queue: "mail".into(),
        id: id.to_owned().into(),
        elapsed: Duration::from_secs(7),
        deadline: SystemTime::now() + Duration::from_secs(600),
    };
    let client = engine.client().await;
    let lease = |s: u64| LeaseOptions::new(Duration::from_secs(s)).wait(Duration::ZERO);
    while let Some(line) = lines.next_line().await.unwrap() {
        let Some(command) = line.strip_prefix('@') else {
            println!("{line}");
            continue;
        };
        match command.split(' ').collect::<Vec<_>>()[..] {
            ["lease", id, s] => {
                queue.add_item(Item::new("x").with_id(id).priority(9)).await.unwrap();
                let lease = queue.lease(lease(s.parse().unwrap())).await.unwrap().unwrap();
                held.insert(id.to_owned(), lease);
            }
            ["extend", id, s] => {
                let duration = Duration::from_secs(s.parse().unwrap());
                queue.extend(&held[id], duration).await.unwrap();
            }
            ["release", id] => {
                queue.release(&held[id], Duration::from_secs(600)).await.unwrap();
            }
            ["late"] => {
                let lease = LeaseOptions::new(Duration::from_millis(1)).wait(Duration::ZERO);
                assert!(late.lease(lease).await.unwrap().is_some());
            }
            ["clean"] => drop(late.light_clean().await.unwrap()),
            ["beat", name, ref ids @ ..] => {
                let mut beat = Beat::new(WorkerId::new(name).with_instance("1"));
                (beat.slots, beat.queues) = (4, vec!["mail".into()]);
                beat.running = ids.iter().map(|id| running(id)).collect();
                client.beat(&beat).await.unwrap();
            }
            ["quiet", name] => client.quiet_worker(name).await.unwrap(),
            ["pause"] => server.pause(),
            ["resume"] => server.resume(),
            _ => panic!("{command}"),
        }
        answers.write_all(b"ok\n").await.unwrap();
    }
    assert!(browser.wait().await.unwrap().success());
}
