//! Commands that change single items and queues.

use std::time::Duration;

use leaseq::{Item, LeaseOptions, State};
use serde_json::json;

use crate::support::{Bench, finish};

#[tokio::test(flavor = "multi_thread")]
async fn items_are_added_from_everywhere() {
    for bench in Bench::all() {
        let id = bench.run(&["add", "mail", "hello"]).ok().out;
        let queue = bench.queue("mail").await;
        assert_eq!(queue.get(id.trim_end()).await.unwrap().unwrap().data, "hello");
        assert_eq!(
            bench.run(&["add", "mail", "a", "--id", "one", "--priority", "9"]).ok().out,
            "one\n"
        );
        let again = bench.run(&["add", "mail", "b", "--id", "one"]);
        assert_eq!((again.status, again.out.as_str()), (1, ""));
        assert_eq!(
            bench.json(&["add", "mail", "b", "--id", "one"]),
            json!({ "id": "one", "added": false })
        );
        assert_eq!(bench.json(&["add", "mail", "b", "--id", "one", "--replace"])["added"], true);
        let alone = bench.run(&["add", "mail", "b", "--id", "one", "--successor"]);
        assert_eq!(alone.status, 2, "{alone:?}");
        let minute = LeaseOptions::new(Duration::from_secs(60));
        let leases = queue.lease_many(2, minute).await.unwrap();
        assert_eq!(leases[1].id(), b"one");
        let follows = ["add", "mail", "c", "--id", "one", "--replace", "--successor"];
        assert_eq!(bench.json(&follows)["added"], true);
        queue.complete(&leases[1]).await.unwrap();
        assert_eq!(queue.get("one").await.unwrap().unwrap().data, "c");
        bench.run_with(&["add", "mail", "-", "--id", "bytes"], b"\x00\xff").ok();
        assert_eq!(queue.get("bytes").await.unwrap().unwrap().data, &b"\x00\xff"[..]);
        std::fs::write(bench.folder.path().join("letter"), "dear").unwrap();
        bench.run(&["add", "mail", "@letter", "--id", "file", "--delay", "1h"]).ok();
        let item = queue.get("file").await.unwrap().unwrap();
        assert_eq!((&item.data[..], item.state), (&b"dear"[..], State::Delayed));
        let missing = bench.run(&["add", "mail", "@nothing"]);
        assert_eq!(missing.status, 2, "{missing:?}");
        let before = queue.queue_len().await.unwrap();
        let lines = bench.run_with(&["add", "mail", "--ndjson"], b"{\"n\":1}\n\n[2]\n\"three\"");
        assert_eq!(lines.ok().out, "added 3 of 3 items\n");
        assert_eq!(queue.queue_len().await.unwrap(), before + 3);
        let wrong = bench.run_with(&["add", "mail", "--ndjson"], b"1\n{\n");
        assert_eq!(wrong.status, 2);
        assert!(wrong.err.contains("line 2 is no JSON"), "{}", wrong.err);
        let refused = bench.run(&["add", "mail", "x", "--priority", "10", "--json"]);
        assert_eq!((refused.status, &refused.error()["kind"]), (2, &"INVALID".into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn items_of_a_key_wait_for_each_other() {
    for bench in Bench::all() {
        for id in ["a", "b"] {
            bench.run(&["add", "mail", "x", "--id", id, "--key", "ada"]).ok();
        }
        let job = ["enqueue", "mail", "mail.welcome", "--id", "c", "--key", "ada"];
        bench.run(&job).ok();
        let queue = bench.queue("mail").await;
        let options = LeaseOptions::new(Duration::from_secs(60));
        let leases = queue.lease_many(3, options).await.unwrap();
        assert_eq!(leases.iter().map(|lease| lease.id()).collect::<Vec<_>>(), [b"a"]);
        assert_eq!(queue.get("c").await.unwrap().unwrap().key.unwrap(), "ada");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unique_key_may_outlive_its_item() {
    for bench in Bench::all() {
        let unique = ["--unique", "u", "--unique-for", "1h"];
        let add = |id| bench.run(&[&["add", "mail", "x", "--id", id][..], &unique].concat());
        add("a").ok();
        bench.run(&["remove", "mail", "a", "--yes"]).ok();
        assert_eq!(add("b").status, 1);
        let alone = bench.run(&["add", "mail", "x", "--unique-for", "1h"]);
        assert!(alone.status == 2 && alone.err.contains("--unique <KEY>"), "{alone:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_enqueued_as_workers_read_it() {
    for bench in Bench::all() {
        let args =
            ["enqueue", "mail", "mail.welcome", "{\"to\":\"ada\"}", "--id", "j", "--timeout", "5s"];
        assert_eq!(bench.run(&args).ok().out, "j\n");
        let item = bench.queue("mail").await.get("j").await.unwrap().unwrap();
        let job: serde_json::Value = item.json().unwrap();
        assert_eq!(job["args"]["to"], "ada", "{job}");
        assert_eq!(bench.run(&["enqueue", "mail", "m", "[1]"]).status, 2);
        assert_eq!(bench.run(&["enqueue", "mail", "m", "{"]).status, 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_are_paused_and_resumed() {
    for bench in Bench::all() {
        let (a, b) = (bench.queue("a").await, bench.queue("b").await);
        for queue in [&a, &b] {
            queue.add_item(leaseq::Item::new("x")).await.unwrap();
        }
        assert_eq!(bench.run(&["pause", "a"]).ok().out, "paused a\n");
        assert!(a.settings().await.unwrap().paused && !b.settings().await.unwrap().paused);
        // Nothing says who it is but the host.
        let host = a.settings().await.unwrap().paused_by;
        assert!(!host.contains('@') && !host.is_empty(), "{host:?}");
        finish(bench.command(&["pause", "a"]).env("USER", "ada"), b"").ok();
        assert_eq!(a.settings().await.unwrap().paused_by, format!("ada@{host}"));
        bench.run(&["pause", "a", "--by", "ada", "--reason", "disk is full"]).ok();
        let settings = bench.json(&["settings", "a"]);
        assert_eq!(
            (&settings["paused_by"], &settings["pause_reason"]),
            (&json!("ada"), &json!("disk is full"))
        );
        assert!(settings["paused_at"].as_str().unwrap().ends_with('Z'), "{settings}");
        let doctor = bench.run(&["doctor", "a"]).out;
        assert!(doctor.contains("leasing is paused since "), "{doctor}");
        assert!(doctor.contains(" by ada: disk is full\n"), "{doctor}");
        assert_eq!(bench.run(&["pause", "a", "--by", &"x".repeat(129)]).status, 2);
        assert!(bench.run(&["status", "--table"]).ok().out.contains("paused"));
        bench.run(&["pause", "--all", "--for", "1h"]).ok();
        assert!(b.settings().await.unwrap().paused_until.is_some());
        assert_eq!(bench.json(&["resume", "--all"]), json!({ "resumed": ["a", "b"] }));
        assert!(!a.settings().await.unwrap().paused && !b.settings().await.unwrap().paused);
        // A mistyped name makes no queue.
        assert_eq!(bench.run(&["pause", "c"]).status, 1);
        assert_eq!(bench.run(&["queues"]).ok().out, "a\nb\n");
        assert_eq!(bench.run(&["pause"]).status, 2);
        assert_eq!(bench.run(&["pause", "a", "--all"]).status, 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_changed_and_shown() {
    for bench in Bench::all() {
        let changes = [
            "max_attempts=5",
            "retain=24h",
            "max_dead=1000",
            "max_dead_age=30d",
            "max_retained=7",
            "max_retained_age=7d",
            "key_limit=2",
            "rate=10/1s,burst=50",
            "key_rate=1/1m,burst=3",
        ];
        let shown = bench.json(&[&["settings", "q"], &changes[..]].concat());
        assert_eq!(shown["retain_ms"], 86_400_000, "{shown}");
        assert_eq!(shown["rate"], json!({ "count": 10, "period_ms": 1000, "burst": 50 }));
        let lines = bench.run(&["settings", "q"]).ok().out.replace('\t', "=");
        for change in changes {
            let change = change.replace("24h", "1d");
            assert!(lines.lines().any(|line| line == change), "{change}: {lines}");
        }
        let shown = bench.json(&["settings", "q", "rate=none", "retain=none", "key_limit=none"]);
        assert_eq!((&shown["rate"], &shown["key_limit"]), (&json!(null), &1.into()));
        for wrong in [
            "rate=10",
            "retain=soon",
            "colour=red",
            "max_attempts",
            "max_attempts=-1",
            "key_limit=0",
            "key_rate=1/1d,burst=367",
        ] {
            assert_eq!(bench.run(&["settings", "q", wrong]).status, 2, "{wrong}");
        }
        let old = bench.run(&["settings", "q", "max_dead=1", "--if-revision", "7"]);
        assert_eq!(old.status, 1);
        assert_eq!(bench.json(&["settings", "q"])["max_dead"], 1000);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_is_dropped_unless_somebody_works_on_it() {
    for bench in Bench::all() {
        let queue = bench.queue("q").await;
        queue.add_item(Item::new("x").with_id("a")).await.unwrap();
        queue.add_item(Item::new("x").with_id("b")).await.unwrap();
        let run = |more: &[&str]| bench.run(&[&["drop", "q"], more].concat());
        let preview = run(&["--dry-run"]).ok().out;
        assert!(preview.contains("2 ready items") && preview.contains("\n  a  "), "{preview}");
        assert_eq!(bench.json(&["drop", "q", "--dry-run"])["queue"]["ready"], 2);
        assert_eq!(run(&[]).status, 4, "nobody can confirm it");
        let lease = LeaseOptions::new(Duration::from_secs(60));
        let leases = queue.lease_many(1, lease).await.unwrap();
        let leased = run(&["-y"]);
        assert!(leased.status == 4 && leased.err.contains("1 items are leased"), "{leased:?}");
        queue.complete_many(&leases).await.unwrap();
        let client = leaseq::Client::connect(&bench.url).await.unwrap();
        let mut beat = leaseq::Beat::new(leaseq::WorkerId::new("mail"));
        beat.queues = vec!["q".into()];
        client.beat(&beat).await.unwrap();
        let served = run(&["-y"]);
        assert!(served.status == 4 && served.err.contains("worker mail serves it"), "{served:?}");
        assert_eq!(queue.counts().await.unwrap().ready, 1);
        assert_eq!(run(&["-y", "--force"]).ok().out, "dropped queue q\n");
        assert_eq!(bench.run(&["queues"]).status, 1);
        assert_eq!(run(&["-y"]).status, 1);
    }
}
