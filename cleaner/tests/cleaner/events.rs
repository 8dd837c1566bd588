//! Events on standard output.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use leaseq::SettingsChange;
use leaseq_test_support::eventually_blocking;
use serde_json::Value;

use crate::support::{Cleaner, Place, SOON, command, item};

type Lines = Arc<Mutex<Vec<Value>>>;

fn start(url: &str, path: &str) -> (Child, Lines) {
    let mut command = command(&["--url", url, "--listen", "none", "--events", path]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = Lines::default();
    let (from, to) = (child.stdout.take().unwrap(), lines.clone());
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            to.lock().unwrap().push(serde_json::from_str(&line).unwrap());
        }
    });
    (child, lines)
}

fn wait_for(lines: &Lines, id: &str) {
    let found = || lines.lock().unwrap().iter().any(|line| line["id"] == id);
    assert!(eventually_blocking(SOON, found), "no {id}: {lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_is_a_line_and_a_restart_goes_on() {
    for place in Place::both() {
        let client = place.client().await;
        let queue = client.queue("q").unwrap();
        client.queue("silent").unwrap().add_item(item("silent")).await.unwrap();
        queue.configure(SettingsChange::new().events(1_000)).await.unwrap();
        queue.add_item(item("a")).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cursors").to_str().unwrap().to_owned();
        let (child, first) = start(&place.url(), &path);
        let mut cleaner = Cleaner::of(child);
        wait_for(&first, "a");
        queue.add_item(item("b")).await.unwrap();
        wait_for(&first, "b");
        let saved = || {
            std::fs::read_to_string(&path).is_ok_and(|text| {
                let last = first.lock().unwrap().last().unwrap()["number"].to_string();
                text.contains(&last)
            })
        };
        assert!(eventually_blocking(SOON, saved));
        assert!(cleaner.stop().success());
        queue.add_item(item("c")).await.unwrap();
        let (child, second) = start(&place.url(), &path);
        let mut cleaner = Cleaner::of(child);
        wait_for(&second, "c");
        assert_eq!(second.lock().unwrap().len(), 1);
        assert!(cleaner.stop().success());
        let all: Vec<Value> =
            [&first, &second].iter().flat_map(|lines| lines.lock().unwrap().clone()).collect();
        let ids: Vec<&str> = all.iter().map(|line| line["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["a", "b", "c"]);
        assert!(all.iter().all(|line| line["queue"] == "q" && line["kind"] == "added"));
    }
}
