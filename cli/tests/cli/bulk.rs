//! Changes of many items: only what the preview has covered, interrupted and continued.

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use leaseq::{Item, LeaseOptions, State, WorkQueue};

use crate::support::Bench;

/// Dead items `d0` … in an order of their own.
async fn bury(queue: &WorkQueue, count: usize) {
    let ids: Vec<String> = (0..count).map(|n| format!("d{n}")).collect();
    queue.add_items(ids.iter().map(|id| Item::new("x").with_id(id))).await.unwrap();
    queue.bury(&ids, "boom").await.unwrap();
}

async fn dead(queue: &WorkQueue) -> u64 {
    queue.counts().await.unwrap().dead
}

/// A dry run promises nothing that the command does not do.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_changed_is_not_promised() {
    for bench in Bench::all() {
        let queue = bench.queue("q").await;
        queue.add_item(Item::new("x").with_id("leased")).await.unwrap();
        let options = LeaseOptions::new(Duration::from_secs(60));
        queue.lease(options).await.unwrap().unwrap();
        for verb in ["requeue", "bury"] {
            let one = bench.run(&[verb, "q", "leased", "--dry-run"]);
            assert_eq!((one.status, one.out.as_str()), (1, "found 0 of 1 items\n"), "{one:?}");
            assert_eq!(one.err, "would not be changed: leased\n");
            let all = bench.run(&[verb, "q", "--state", "leased", "--dry-run"]);
            let says = format!("queue q: {verb} changes no leased items");
            assert!(all.status == 2 && all.err.contains(&says), "{all:?}");
        }
        let cancelled = bench.run(&["cancel", "q", "leased", "--dry-run"]).ok().out;
        assert_eq!(cancelled, "found 1 of 1 items\n");
        assert_eq!(bench.run(&["cancel", "q", "--state", "dead", "--yes"]).status, 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_changed_and_the_others_named() {
    for bench in Bench::all() {
        let queue = bench.queue("q").await;
        bury(&queue, 4).await;
        let run = bench.run(&["requeue", "q", "d0", "nobody"]);
        assert_eq!((run.status, run.out.as_str()), (1, "requeued 1 of 2 items\n"));
        assert_eq!(run.err, "not requeued: nobody\n");
        assert_eq!(bench.run(&["remove", "q", "d1"]).ok().out, "removed 1 of 1 items\n");
        assert_eq!(
            bench.run(&["bury", "q", "d0", "--reason", "wrong\nhere"]).ok().out,
            "buried 1 of 1 items\n"
        );
        assert_eq!(queue.get("d0").await.unwrap().unwrap().last_error, "wrong\nhere");
        queue.add_item(Item::new("x").with_id("c")).await.unwrap();
        assert_eq!(bench.run(&["cancel", "q", "c", "--dry-run"]).ok().out, "found 1 of 1 items\n");
        assert_eq!(bench.run(&["cancel", "q", "c"]).ok().out, "cancelled 1 of 1 items\n");
        assert_eq!(queue.get("c").await.unwrap(), None);
        // What a list writes can be piped.
        let list = bench.run(&["items", "q", "--state", "dead"]).ok().out;
        let piped = bench.run_with(&["remove", "q", "-", "--save", "saved"], list.as_bytes());
        assert_eq!(piped.ok().out, "removed 3 of 3 items\n");
        let saved = std::fs::read_to_string(bench.folder.path().join("saved")).unwrap();
        assert_eq!(saved.lines().count(), 3);
        assert_eq!(dead(&queue).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selection_is_shown_and_changed_only_if_confirmed() {
    for bench in Bench::all() {
        let queue = bench.queue("q").await;
        bury(&queue, 1_200).await;
        let preview = bench.run(&["requeue", "q", "--state", "dead", "--dry-run"]).ok();
        assert!(preview.out.starts_with("requeue 1200 dead items of queue q on "), "{preview:?}");
        assert_eq!(preview.out.lines().count(), 5);
        let json = bench.json(&["purge", "q", "--state", "dead", "--dry-run"]);
        assert_eq!(
            (&json["selected"], json["samples"].as_array().unwrap().len()),
            (&1200.into(), 3)
        );
        let refused = bench.run(&["purge", "q", "--state", "dead"]);
        assert_eq!(refused.status, 4, "{refused:?}");
        assert!(refused.err.contains("--yes"));
        let refused = bench.run_with(&["purge", "q", "--state", "dead", "--json"], b"q\n");
        assert_eq!(refused.status, 4, "only a terminal confirms");
        assert_eq!(dead(&queue).await, 1_200);
        assert_eq!(
            bench.run(&["remove", "q", "--state", "dead", "--error", "bang", "-y"]).status,
            1
        );
        assert_eq!(bench.run(&["remove", "q", "--error", "boom", "-y"]).status, 2, "which state?");
        let some =
            bench.run(&["remove", "q", "--state", "dead", "--id-prefix", "d11", "--yes"]).ok();
        assert_eq!(some.out, "removed 111 of 111 items\n");
        let json = bench.json(&["requeue", "q", "--error", "boom", "--yes"]);
        assert_eq!(json["changed"], 1_089);
        assert_eq!(
            bench.run(&["cancel", "q", "--state", "ready", "-y"]).ok().out,
            "cancelled 1089 of 1089 items\n"
        );
        assert_eq!(bench.run(&["purge", "q", "--state", "dead", "-y"]).status, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_newer_than_the_preview_is_left_alone() {
    for bench in Bench::all() {
        let queue = bench.queue("q").await;
        bury(&queue, 1_500).await;
        let mut child = bench
            .command(&["purge", "q", "--state", "dead", "--yes", "--rate", "400", "--json"])
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = async || dead(&queue).await < 1_500;
        assert!(leaseq_test_support::eventually(std::time::Duration::from_secs(30), begun).await);
        // Newer generations, one of an id that was in the preview.
        let left = queue.list(State::Dead, None, 1_000).await.unwrap().items.pop().unwrap();
        queue.add_item(Item::new("x").with_id("new")).await.unwrap();
        assert_eq!(queue.requeue([&left.id]).await.unwrap(), [true]);
        assert_eq!(queue.bury(["new".as_bytes(), &left.id], "later").await.unwrap(), [true; 2]);
        // Interrupted, and continued where it was.
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
        let error: serde_json::Value = serde_json::from_str(&text).unwrap();
        let place = error["error"]["continue"].as_str().unwrap();
        assert!(dead(&queue).await > 2, "it was interrupted: {text}");
        bench.run(&["purge", "q", "--state", "dead", "--yes", "--continue", place]).ok();
        assert_eq!(dead(&queue).await, 2);
        assert_eq!(
            bench.run(&["purge", "q", "--state", "dead", "-y", "--continue", place]).status,
            1
        );
        assert_eq!(
            bench.run(&["purge", "q", "--state", "ready", "-y", "--continue", place]).status,
            2
        );
        assert_eq!(
            bench.run(&["purge", "q", "--state", "dead", "-y", "--continue", "x"]).status,
            2
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_saved_is_what_was_removed() {
    for bench in Bench::all() {
        let queue = bench.queue("q").await;
        bury(&queue, 700).await;
        let args = ["purge", "q", "--state", "dead", "--yes", "--save", "saved.ndjson"];
        bench.run(&args).ok();
        let saved = std::fs::read_to_string(bench.folder.path().join("saved.ndjson")).unwrap();
        let mut ids: Vec<_> = saved
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].to_string())
            .collect();
        ids.sort();
        ids.dedup();
        assert_eq!((ids.len(), dead(&queue).await), (700, 0));
        // An earlier file is never overwritten.
        bury(&queue, 1).await;
        assert_eq!(bench.run(&args).status, 2);
        assert_eq!(dead(&queue).await, 1);
    }
}
