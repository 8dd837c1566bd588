//! Commands that change nothing.

use std::time::Duration;

use leaseq::{
    FailOptions, FollowUp, Item, LeaseOptions, On, PauseOptions, ScheduleRule, State, WorkQueue,
};

use crate::support::Bench;

/// A queue with an item in most states.
async fn fill(bench: &Bench) -> WorkQueue {
    let queue = bench.queue("orders").await;
    let keep = Duration::from_secs(3600);
    for (id, data) in [("dead", "{\"n\":1}"), ("done", "two"), ("run", "three"), ("wait", "four")] {
        let item = Item::new(data).with_id(id).retain(keep).max_attempts(3);
        assert!(queue.add_item(item).await.unwrap());
    }
    assert!(queue.add_item(Item::new("five").with_id("later").delay(keep)).await.unwrap());
    let leases = queue.lease_many(3, LeaseOptions::new(keep).wait(Duration::ZERO)).await.unwrap();
    let dead = FailOptions::new().dead();
    queue.fail_with(&leases[0], "no such customer: 17", dead).await.unwrap();
    queue.complete(&leases[1]).await.unwrap();
    queue
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_shown_in_every_form() {
    for bench in Bench::all() {
        assert_eq!(bench.run(&["queues"]).status, 1);
        assert_eq!(bench.run(&["status"]).status, 1);
        assert_eq!(bench.json(&["queues"]), serde_json::json!([]));
        fill(&bench).await;
        assert_eq!(bench.run(&["queues"]).ok().out, "orders\n");
        let status = bench.json(&["status"]);
        for state in ["ready", "delayed", "leased", "dead", "completed"] {
            assert_eq!(status[0][state], 1, "{state}: {status}");
        }
        assert_eq!(status[0]["backlog"], 2);
        let tabs = bench.run(&["status", "orders"]).ok().out;
        assert!(tabs.starts_with("orders\t1\t1\t0\t1\t1\t1\t0\t"), "{tabs}");
        let table = bench.run(&["status", "--table"]).ok().out;
        assert!(table.starts_with("QUEUE") && table.lines().count() == 2, "{table}");
        let missing = bench.run(&["status", "order"]);
        assert_eq!((missing.status, missing.out.as_str()), (1, ""));
        assert!(missing.err.contains("there is no queue order"), "{}", missing.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn items_are_found_by_state_text_and_place() {
    for bench in Bench::all() {
        let queue = fill(&bench).await;
        for (state, id) in [
            ("ready", "wait"),
            ("delayed", "later"),
            ("leased", "run"),
            ("dead", "dead"),
            ("completed", "done"),
        ] {
            let items = bench.json(&["items", "orders", "--state", state]);
            assert_eq!(items["items"][0]["id"], id, "{items}");
            assert_eq!(items["items"][0]["state"], state);
            let line = bench.run(&["items", "orders", "--state", state]).ok().out;
            assert_eq!(line.split('\t').take(2).collect::<Vec<_>>(), [id, state]);
        }
        assert_eq!(bench.run(&["items", "orders", "--state", "held"]).status, 1);
        let dead = |more: &[&str]| bench.run(&[&["dead", "orders"], more].concat());
        assert!(dead(&["--error", "customer"]).ok().out.starts_with("dead\tdead\t0\t1\t"));
        assert_eq!(dead(&["--error", "Customer"]).status, 1);
        assert_eq!(dead(&["--where", "\"n\":1"]).status, 0);
        assert_eq!(dead(&["--id-prefix", "de"]).status, 0);
        assert_eq!(dead(&["--since", "1h"]).status, 0);
        assert_eq!(dead(&["--until", "1h"]).status, 1);
        assert_eq!(dead(&["--since", "soon"]).status, 2);
        let many = (0..250).map(|n| Item::new("x").with_id(format!("n{n:03}")));
        queue.add_items(many).await.unwrap();
        let first = bench.json(&["items", "orders", "--limit", "200"]);
        assert_eq!(first["items"].as_array().unwrap().len(), 200);
        let cursor = first["cursor"].as_str().unwrap();
        let rest = bench.json(&["items", "orders", "--cursor", cursor]);
        assert_eq!(rest["items"].as_array().unwrap().len(), 51);
        assert_eq!(rest["cursor"], serde_json::Value::Null);
        let last = bench.json(&["items", "orders", "--reverse", "--limit", "1"]);
        assert_eq!(last["items"][0]["id"], "n249");
        let all = bench.run(&["items", "orders", "--all"]).ok();
        assert_eq!((all.out.lines().count(), all.err.as_str()), (251, ""));
        let part = bench.run(&["items", "orders", "--limit", "3"]).ok();
        assert!(part.err.contains("--cursor f:ready:"), "{}", part.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_item_is_shown_whole() {
    for bench in Bench::all() {
        let queue = fill(&bench).await;
        let item = bench.json(&["show", "orders", "dead"]);
        assert_eq!((&item["data"], &item["failures"]), (&"{\"n\":1}".into(), &1.into()));
        assert_eq!(item["endings"][0]["kind"], "failed");
        assert_eq!(item["last_error"], "no such customer: 17");
        assert!(item["added_at"].as_str().unwrap().ends_with('Z'));
        let table = bench.run(&["show", "orders", "dead", "--table"]).ok().out;
        assert!(table.contains("data, 7 bytes:\n{\n  \"n\": 1\n}"), "{table}");
        assert_eq!(bench.run(&["show", "orders", "dead", "--raw"]).ok().out, "{\"n\":1}");
        let mail = FollowUp::new(On::Ended, Item::new("x").with_id("m\u{1b}").queue("mail"));
        queue.add_item(Item::new("x").with_id("first").follow_up(mail)).await.unwrap();
        let shown = bench.run(&["show", "orders", "first"]).ok().out;
        assert!(shown.contains("follow_up\twhen ended, adds m\\u001b to queue mail\n"), "{shown}");
        let json = bench.json(&["show", "orders", "first"]);
        assert_eq!(json["follow_ups"][0]["item"]["queue"], "mail", "{json}");
        let missing = bench.run(&["show", "orders", "nobody", "--json"]);
        assert_eq!((missing.status, &missing.error()["kind"]), (1, &"NOT_FOUND".into()));
        let bytes = Item::new([0xff, 0]).with_id("bytes");
        queue.add_item(bytes).await.unwrap();
        assert_eq!(bench.json(&["show", "orders", "bytes"])["data_base64"], "/wA=");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_dead_groups_and_schedules_are_listed() {
    for bench in Bench::all() {
        let queue = fill(&bench).await;
        let leases = bench.json(&["leases"]);
        assert_eq!((&leases[0]["queue"], &leases[0]["id"]), (&"orders".into(), &"run".into()));
        assert!(leases[0]["left_ms"].as_u64().unwrap() > 3_000_000);
        assert_eq!(bench.run(&["leases", "orders"]).ok().out.lines().count(), 1);
        queue.add_item(Item::new("x").with_id("other")).await.unwrap();
        assert_eq!(
            queue.bury(["other", "wait"], "no such customer: 4711").await.unwrap(),
            [true; 2]
        );
        let groups = bench.json(&["dead", "orders", "--group"]);
        assert_eq!(groups.as_array().unwrap().len(), 1, "{groups}");
        assert_eq!(
            (&groups[0]["count"], &groups[0]["error"]),
            (&3.into(), &"no such customer: #".into())
        );
        assert_eq!(bench.run(&["schedules"]).status, 1);
        let rule = ScheduleRule::cron("0 3 * * *", "Europe/Berlin").unwrap();
        let item = Item::new("x").priority(3).key("customer 7").retain(Duration::from_secs(3600));
        queue.put_schedule(leaseq::Schedule::new("report", rule, item)).await.unwrap();
        let schedules = bench.json(&["schedules", "orders"]);
        assert_eq!(
            (&schedules[0]["priority"], &schedules[0]["key"], &schedules[0]["retain_ms"]),
            (&3.into(), &"customer 7".into(), &3_600_000.into())
        );
        assert_eq!(schedules[0].get("data"), None);
        assert_eq!(bench.json(&["schedules", "--data"])[0]["data"], "x");
        assert_eq!(bench.run(&["schedules", "--data"]).status, 2);
        assert_eq!(schedules[0]["rule"], "cron Europe/Berlin 0 3 * * *", "{schedules}");
        assert!(schedules[0]["next_at"].as_str().unwrap().ends_with("Z"));
        let line = bench.run(&["schedules"]).ok().out;
        assert!(line.starts_with("orders\treport\t"), "{line}");
        assert!(line.ends_with("\tpriority 3, retain 1h, key customer 7\n"), "{line}");
        let pause = PauseOptions::new().by("ada").reason("a\u{202e}b");
        assert!(queue.pause_schedule_with("report", pause).await.unwrap());
        let line = bench.run(&["schedules"]).ok().out;
        assert!(line.contains("\tpaused by ada: a\\u202eb\t"), "{line}");
        assert_eq!(queue.counts().await.unwrap().leased, 1);
        assert_eq!(queue.list(State::Dead, None, 10).await.unwrap().items.len(), 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_and_check_say_what_is_wrong() {
    for bench in Bench::all() {
        fill(&bench).await;
        let diagnosis = bench.run(&["doctor", "--json"]);
        // A server of the tests writes nothing to the disk.
        let is_file = bench.url.starts_with("sqlite:");
        assert_eq!(diagnosis.status, i32::from(!is_file), "{diagnosis:?}");
        assert_eq!(diagnosis.json()["fine"], is_file);
        assert!(bench.run(&["doctor"]).out.contains("durability: "));
        let checked = bench.run(&["check"]).ok().out;
        assert!(checked.starts_with("orders: 5 items, sound"), "{checked}");
        let Some(server) = &bench.server else { continue };
        // An item that is in no state: its place in the list is gone.
        server.cli(&["DEL", "leaseq:{orders}:ready"]);
        let damaged = bench.run(&["check", "orders"]);
        assert_eq!(damaged.status, 1, "{damaged:?} {}", server.cli(&["KEYS", "*"]));
        assert_eq!(bench.run(&["check", "orders", "--mend"]).status, 0);
        assert_eq!(bench.run(&["check"]).status, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn status_is_watched_until_it_is_interrupted() {
    use std::io::BufRead;
    for bench in Bench::all() {
        fill(&bench).await;
        let mut child = bench
            .command(&["status", "--watch", "--interval", "100ms", "--json"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        for _ in 0..3 {
            let line: serde_json::Value =
                serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            assert_eq!((&line["queue"], &line["dead"]), (&"orders".into(), &1.into()));
            assert!(line["at"].is_string());
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
}
