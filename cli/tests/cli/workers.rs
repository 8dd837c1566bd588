//! `workers`, `worker` and `stats`.

use std::process::Stdio;
use std::time::{Duration, SystemTime};

use leaseq::{
    Beat, Client, Item, LeaseOptions, Measured, RunningItem, Schedule, WorkerAction, WorkerId,
};
use leaseq_test_support::eventually;
use tokio::task::LocalSet;

use crate::support::Bench;

const LONG: Duration = Duration::from_secs(60);

fn beat(name: &str) -> Beat {
    let mut beat = Beat::new(WorkerId::new(name));
    beat.host = "host-1".into();
    beat.queues = vec!["orders".into()];
    beat.slots = 4;
    beat.memory = Some(3 << 20);
    beat.running = vec![RunningItem {
        queue: "orders".into(),
        id: "a".into(),
        elapsed: Duration::from_secs(90),
        deadline: SystemTime::now() + LONG,
    }];
    beat
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_are_listed_and_commanded() {
    for bench in Bench::all() {
        assert_eq!(bench.run(&["workers"]).status, 1);
        let client = Client::connect(&bench.url).await.unwrap();
        let (one, mut other) = (beat("mail"), beat("report"));
        other.queues.clear();
        client.beat(&one).await.unwrap();
        client.beat(&other).await.unwrap();
        let listed = bench.json(&["workers"]);
        assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
        assert_eq!(listed[0]["running"][0]["id"], "a");
        assert_eq!(
            (&listed[0]["slots"], &listed[0]["memory_bytes"]),
            (&4.into(), &3_145_728.into())
        );
        let of_queue = bench.run(&["workers", "orders"]).ok().out;
        let start = format!(
            "mail\t{}\thost-1\t{}\torders\t1\t4\t90000\t3145728\t",
            one.worker.instance(),
            std::process::id()
        );
        assert!(of_queue.starts_with(&start) && of_queue.lines().count() == 1, "{of_queue}");
        let table = bench.run(&["worker", "list", "--table"]).ok().out;
        assert!(
            table.starts_with("NAME") && table.contains("1m30s") && table.contains("3 MiB"),
            "{table}"
        );
        let running = bench.run(&["workers", "orders", "--running"]).ok().out;
        assert!(running.starts_with("mail\torders\ta\t90000\t"), "{running}");
        bench.run(&["worker", "quiet", "mail"]).ok();
        assert!(client.beat(&one).await.unwrap().quiet);
        assert_eq!(bench.json(&["workers"])[0]["quiet"], true);
        bench.run(&["worker", "resume", "mail"]).ok();
        assert!(!client.beat(&one).await.unwrap().quiet);
        let nobody = bench.run(&["worker", "quiet", "nobody"]).ok();
        assert!(nobody.err.contains("no worker nobody"), "{nobody:?}");
        assert_eq!(bench.json(&["worker", "stop", "mail"])["told"], 1);
        let commands = client.beat(&one).await.unwrap().commands;
        assert_eq!(commands[0].action, WorkerAction::Stop);
        assert!(client.beat(&other).await.unwrap().commands.is_empty());
        assert!(bench.run(&["workers", "orders"]).out.contains("\tstopping\n"));
        // It has heard of the command, and something still runs.
        let mut ending = one.clone();
        (ending.acknowledged, ending.draining) = (vec![commands[0].number], true);
        assert!(client.beat(&ending).await.unwrap().commands.is_empty());
        assert!(bench.run(&["workers", "orders"]).out.contains("\tstopping\n"));
        assert_eq!(bench.json(&["workers"])[0]["draining"], true);
        let gone = bench.run(&["worker", "stop", "mail", "--instance", "another", "--json"]);
        assert_eq!((gone.status, &gone.error()["kind"]), (1, &"NOT_FOUND".into()));
        assert_eq!(bench.run(&["worker", "quiet", "a\nb"]).status, 2);
    }
}

async fn obeys(bench: Bench) {
    let queue = bench.queue("orders").await;
    queue.add_item(Item::new("x").with_id("a")).await.unwrap();
    let script = "touch begun; until [ -e go ]; do sleep 0.01; done";
    let args = ["work", "orders", "-j", "3", "--name", "mail", "--", "sh", "-c", script];
    let child = bench.command(&args).stderr(Stdio::piped()).spawn().unwrap();
    let begun = bench.folder.path().join("begun");
    assert!(eventually(LONG, async || begun.exists()).await);
    let listed = bench.json(&["workers", "orders"]);
    assert_eq!((&listed[0]["name"], &listed[0]["slots"]), (&"mail".into(), &3.into()), "{listed}");
    assert_eq!(listed[0]["process"], child.id());
    bench.run(&["worker", "quiet", "mail"]).ok();
    bench.run(&["worker", "stop", "mail"]).ok();
    // It is told with its next beat, which says what runs.
    let told = async || bench.run(&["workers", "--running"]).out.starts_with("mail\torders\ta\t");
    assert!(eventually(LONG, told).await);
    queue.add_item(Item::new("x").with_id("b")).await.unwrap();
    std::fs::write(bench.folder.path().join("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && err.contains("told to lease nothing"), "{err}");
    assert!(err.contains("told to stop"), "{err}");
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.totals.completed, counts.ready), (1, 1));
    assert_eq!(bench.run(&["workers"]).status, 1, "it has left");
    // What it has measured is in the history.
    let stats = bench.json(&["stats", "orders"]);
    assert_eq!(stats["steps"][0]["ran"]["count"], 1, "{stats}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runner_is_a_worker_and_obeys() {
    // A worker looks every few seconds, so they are all waited for at the same time.
    let all = LocalSet::new();
    let obeying: Vec<_> =
        Bench::all().into_iter().map(|bench| all.spawn_local(obeys(bench))).collect();
    all.await;
    for obeyed in obeying {
        obeyed.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_of_a_queue_is_shown_in_steps() {
    for bench in Bench::all() {
        let queue = bench.queue("orders").await;
        queue.add_item(Item::new("first")).await.unwrap();
        let none = bench.run(&["stats", "orders"]);
        assert!(none.status == 1 && none.err.contains("leaseq-cleaner"), "{none:?}");
        let mut measured = Measured::default();
        measured.waiting.record(2_000_000);
        measured.run.record(1_500);
        measured.lease_use.record(950);
        queue.record_history(&measured).await.unwrap();
        queue.add_item(Item::new("second")).await.unwrap();
        let lease = queue.lease(LeaseOptions::new(LONG)).await.unwrap().unwrap();
        queue.complete(&lease).await.unwrap();
        for since in ["1h", "6h", "30d"] {
            let stats = bench.json(&["stats", "orders", "--since", since]);
            let step = &stats["steps"][0];
            assert_eq!(
                (&step["changed"]["added"], &step["changed"]["completed"]),
                (&1.into(), &1.into()),
                "{stats}"
            );
            assert_eq!((&step["ready"], &step["ran"]["count"]), (&1.into(), &1.into()));
            // With what was before, these are the totals of the queue.
            assert_eq!((&stats["before"]["added"], stats["steps"][1].is_null()), (&1.into(), true));
            assert!(step["until"].is_string(), "{stats}");
        }
        let line = bench.run(&["stats", "orders"]).ok().out;
        let cells: Vec<_> = line.trim_end().split('\t').collect();
        assert_eq!(
            (cells.len(), &cells[1..8]),
            (13, &["1", "1", "0", "0", "0", "1", "0"][..]),
            "{line}"
        );
        assert_eq!(cells[12], "92%", "histograms are within 7 %");
        let shown = bench.run(&["stats", "orders", "--table"]).ok();
        let table = shown.out;
        assert!(table.contains("  LEASE\n") && table.contains("2s"), "{table}");
        assert!(shown.err.contains("until then 1 were added and 0 done"), "{}", shown.err);
        for wrong in
            [&["--since", "32d"][..], &["--since", "0s"], &["--step", "1s"], &["--step", "7h"]]
        {
            assert_eq!(bench.run(&[&["stats", "orders"], wrong].concat()).status, 2, "{wrong:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_says_what_is_in_the_way_of_a_queue() {
    for bench in Bench::all() {
        let client = Client::connect(&bench.url).await.unwrap();
        let queue = client.queue("orders").unwrap();
        queue.add_items(["a", "b", "c", "d"].map(|id| Item::new("x").with_id(id))).await.unwrap();
        let findings = || {
            let report = bench.run(&["doctor", "orders", "--json"]).json();
            let advice = report["queues"][0]["advice"].as_array().unwrap().clone();
            let text = |one: &serde_json::Value| format!("{} {}", one["problem"], one["found"]);
            advice.iter().map(text).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(findings(), "");
        let fine = bench.run(&["doctor", "orders"]);
        assert!(fine.out.ends_with("queue orders:\nnothing is in its way\n"), "{fine:?}");
        let pause = leaseq::PauseOptions::new().by("ada").reason("disk is full");
        queue.pause_with(pause).await.unwrap();
        let found = findings();
        assert!(found.starts_with("true \"leasing is paused since "), "{found}");
        assert!(found.ends_with(" by ada: disk is full\""), "{found}");
        let paused = bench.run(&["doctor", "orders"]);
        assert!(paused.out.contains("do: leaseq resume orders") && paused.status == 1);
        queue.resume().await.unwrap();
        let rule = leaseq::ScheduleRule::every(LONG).unwrap();
        queue.put_schedule(Schedule::new("report", rule, Item::new("x"))).await.unwrap();
        assert_eq!(findings(), "");
        let pause = leaseq::PauseOptions::new().by("ada").reason("too many");
        queue.pause_schedule_with("report", pause).await.unwrap();
        let found = findings();
        assert!(found.starts_with("false \"1 of 1 schedules are paused, report since "), "{found}");
        assert!(found.ends_with(" by ada: too many\""), "{found}");
        queue.remove_schedule("report").await.unwrap();
        let mut busy = beat("mail");
        busy.slots = 1;
        client.beat(&busy).await.unwrap();
        let all_busy =
            "false \"all 1 slots of the workers that may lease are busy, the longest with a";
        assert!(findings().starts_with(all_busy));
        // It has free slots, of no use.
        let quiet = beat("report");
        client.beat(&quiet).await.unwrap();
        client.quiet_worker("report").await.unwrap();
        assert!(findings().contains("\"1 of 2 workers are told to lease nothing"));
        assert!(findings().contains(all_busy));
        client.leave(&quiet.worker).await.unwrap();
        client.quiet_worker("mail").await.unwrap();
        assert!(findings().contains("true \"1 of 1 workers are told to lease nothing"));
        busy.running[0].elapsed = Duration::from_secs(3421);
        client.beat(&busy).await.unwrap();
        let hangs =
            "1 items have run for more than 10 minutes, the longest, a, for 57m01s on worker mail";
        assert!(findings().contains(hangs), "{}", findings());
        client.leave(&busy.worker).await.unwrap();
        queue.bury(["a", "b"], "no customer 17").await.unwrap();
        let lease = queue.lease(LeaseOptions::new(LONG)).await.unwrap().unwrap();
        queue.fail_with(&lease, "timeout", leaseq::FailOptions::new().delay(LONG)).await.unwrap();
        let found = findings();
        assert!(
            found.contains("2 items are dead, most of the latest with: no customer #"),
            "{found}"
        );
        assert!(
            found.contains(
                "1 delayed items have failed and will be tried again, most with: timeout"
            ),
            "{found}"
        );
        assert_eq!(bench.run(&["doctor", "nobody"]).status, 1);
    }
}
