//! The registry of workers: beats, listings and commands.

use leaseq::options::{BEAT_INTERVAL, COMMAND_LIFE, MAX_WORKER_COMMANDS, WORKER_LIFE};
use leaseq::{
    Beat, Client, ErrorKind, RunningItem, WorkerAction, WorkerId, WorkerInfo, WorkersOptions,
};
use serde_json::json;

use crate::support::*;

fn beat(worker: &WorkerId) -> Beat {
    Beat::new(worker.clone())
}

fn cancel(id: &str) -> WorkerAction {
    WorkerAction::Cancel { queue: "jobs".into(), id: id.to_owned().into() }
}

async fn listed(client: &Client) -> Vec<WorkerInfo> {
    let page = client.workers(WorkersOptions::new()).await.unwrap();
    assert_eq!((page.next, page.skipped), (None, 0));
    page.workers
}

async fn names(client: &Client) -> Vec<String> {
    listed(client).await.iter().map(|worker| worker.beat.worker.name().to_owned()).collect()
}

async fn a_worker_is_listed_as_its_last_beat_says(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let worker = WorkerId::new("w");
    assert!(listed(&client).await.is_empty());
    client.beat(&beat(&worker)).await.unwrap();
    bench.advance(BEAT_INTERVAL);
    let mut beat = beat(&worker);
    beat.host = "größe".into();
    beat.queues = vec!["mail".into(), "bulk".into()];
    beat.slots = 7;
    beat.memory = Some(1 << 40);
    beat.throttled = true;
    beat.draining = true;
    let deadline = std::time::UNIX_EPOCH + ms(bench.now() + 500);
    let id = b"\0\xff%41 \n".to_vec().into();
    beat.running = vec![RunningItem { queue: "mail".into(), id, elapsed: ms(1_500), deadline }];
    beat.waiting.extend([(3, 2), (1_000_000, 1)]);
    beat.run.record(5);
    beat.lease_use.record(999);
    let reply = client.beat(&beat).await.unwrap();
    assert_eq!((reply.quiet, reply.commands.len()), (false, 0));
    let [info] = listed(&other).await.try_into().unwrap();
    assert_eq!(info.beat, beat);
    assert_eq!(since_1970(info.seen), bench.now());
    assert_eq!((info.quiet, info.commands.len()), (false, 0));
}

async fn a_worker_expires_leaves_or_comes_back(bench: &Bench) {
    let client = bench.client().await;
    let [a, b] = ["a", "b"].map(WorkerId::new);
    client.beat(&beat(&a)).await.unwrap();
    bench.advance(WORKER_LIFE - ms(1));
    client.beat(&beat(&b)).await.unwrap();
    assert_eq!(names(&client).await, ["a", "b"]);
    bench.advance(ms(1));
    assert_eq!(names(&client).await, ["b"]);
    assert!(!client.command_worker(&a, &WorkerAction::Stop).await.unwrap());
    // It was stopped for an hour. What it was told long ago is forgotten.
    client.command_worker(&b, &WorkerAction::Stop).await.unwrap();
    bench.advance(secs(3_600));
    for worker in [&a, &b] {
        assert_eq!(client.beat(&beat(worker)).await.unwrap().commands, []);
    }
    assert_eq!(names(&client).await, ["a", "b"]);
    client.leave(&a).await.unwrap();
    client.leave(&a).await.unwrap();
    assert_eq!(names(&client).await, ["b"]);
}

async fn instances_of_one_name_are_workers_of_their_own(bench: &Bench) {
    let client = bench.client().await;
    let [one, two] = ["one", "two"].map(|instance| WorkerId::new("w").with_instance(instance));
    client.beat(&beat(&one)).await.unwrap();
    client.beat(&beat(&two)).await.unwrap();
    assert!(client.command_worker(&two, &WorkerAction::Stop).await.unwrap());
    assert!(client.beat(&beat(&one)).await.unwrap().commands.is_empty());
    assert_eq!(client.beat(&beat(&two)).await.unwrap().commands[0].action, WorkerAction::Stop);
    // Being quiet is of the name, also for an instance that is started later.
    client.quiet_worker("w").await.unwrap();
    client.quiet_worker("w").await.unwrap();
    for instance in ["one", "two", "three"] {
        let worker = WorkerId::new("w").with_instance(instance);
        assert!(client.beat(&beat(&worker)).await.unwrap().quiet);
    }
    assert!(listed(&client).await.iter().all(|worker| worker.quiet));
    assert!(!client.beat(&beat(&WorkerId::new("W"))).await.unwrap().quiet);
    bench.advance(secs(30 * 86_400));
    assert!(client.beat(&beat(&WorkerId::new("w"))).await.unwrap().quiet);
    client.resume_worker("w").await.unwrap();
    assert!(!client.beat(&beat(&one)).await.unwrap().quiet);
}

async fn a_command_comes_until_it_is_acknowledged_or_expires(bench: &Bench) {
    let client = bench.client().await;
    let worker = WorkerId::new("w");
    assert!(!client.command_worker(&worker, &WorkerAction::Stop).await.unwrap());
    client.beat(&beat(&worker)).await.unwrap();
    for action in [cancel("x"), WorkerAction::Stop] {
        assert!(client.command_worker(&worker, &action).await.unwrap());
    }
    // The reply to the first beat is lost.
    client.beat(&beat(&worker)).await.unwrap();
    let mut commands = client.beat(&beat(&worker)).await.unwrap().commands;
    assert_eq!(commands.len(), 2);
    let [info] = listed(&client).await.try_into().unwrap();
    assert_eq!(info.commands, commands);
    commands.retain(|command| command.action != WorkerAction::Stop);
    assert_eq!(commands[0].action, cancel("x"));
    let mut next = beat(&worker);
    next.acknowledged = vec![commands[0].number, 5];
    for _ in 0..2 {
        let reply = client.beat(&next).await.unwrap();
        assert_eq!(reply.commands.len(), 1);
        assert_eq!(reply.commands[0].action, WorkerAction::Stop);
    }
    let beats = COMMAND_LIFE.as_secs() / BEAT_INTERVAL.as_secs();
    for _ in 1..beats {
        bench.advance(BEAT_INTERVAL);
        assert_eq!(client.beat(&beat(&worker)).await.unwrap().commands.len(), 1);
    }
    bench.advance(BEAT_INTERVAL);
    assert!(client.beat(&beat(&worker)).await.unwrap().commands.is_empty());
}

async fn a_command_waits_for_a_worker_that_the_network_has_lost(bench: &Bench) {
    let client = bench.client().await;
    let worker = WorkerId::new("w");
    client.beat(&beat(&worker)).await.unwrap();
    bench.advance(WORKER_LIFE - ms(1));
    assert!(client.command_worker(&worker, &WorkerAction::Stop).await.unwrap());
    bench.advance(secs(60));
    // Others sweep meanwhile.
    client.beat(&beat(&WorkerId::new("other"))).await.unwrap();
    assert_eq!(names(&client).await, ["other"]);
    assert_eq!(client.beat(&beat(&worker)).await.unwrap().commands.len(), 1);
}

async fn the_commands_of_a_worker_are_limited(bench: &Bench) {
    let client = bench.client().await;
    let worker = WorkerId::new("w");
    client.beat(&beat(&worker)).await.unwrap();
    for i in 0..MAX_WORKER_COMMANDS {
        assert!(client.command_worker(&worker, &cancel(&format!("{i}"))).await.unwrap());
    }
    let refused = client.command_worker(&worker, &WorkerAction::Stop).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert!(refused.to_string().contains("100 commands"), "{refused}");
    let commands = client.beat(&beat(&worker)).await.unwrap().commands;
    let mut next = beat(&worker);
    next.acknowledged = commands.iter().map(|command| command.number).collect();
    assert_eq!(client.beat(&next).await.unwrap().commands.len(), 0);
    assert!(client.command_worker(&worker, &WorkerAction::Stop).await.unwrap());
}

async fn workers_are_listed_in_pages_in_the_order_of_their_names(bench: &Bench) {
    let client = bench.client().await;
    let mut expected = Vec::new();
    for i in 0..25 {
        let name = format!("w{:02}", i % 10);
        let worker = WorkerId::new(&name).with_instance(format!("{i:02}"));
        let mut beat = beat(&worker);
        beat.queues = vec![if i % 2 == 0 { "even".into() } else { "odd".into() }];
        client.beat(&beat).await.unwrap();
        expected.push(worker);
    }
    expected.sort();
    let all = async |options: WorkersOptions| {
        let (mut found, mut pages, mut after) = (Vec::new(), 0, None);
        loop {
            let options = options.clone().limit(4);
            let options = match after.take() {
                Some(worker) => options.after(worker),
                None => options,
            };
            let page = client.workers(options).await.unwrap();
            assert!(page.workers.len() <= 4);
            found.extend(page.workers.into_iter().map(|worker| worker.beat.worker));
            pages += 1;
            after = page.next;
            if after.is_none() {
                return (found, pages);
            }
        }
    };
    assert_eq!(all(WorkersOptions::new()).await, (expected.clone(), 7));
    let (odd, _) = all(WorkersOptions::new().queue("odd")).await;
    let is_odd = |worker: &&WorkerId| worker.instance().parse::<u32>().unwrap() % 2 == 1;
    assert_eq!(odd, expected.iter().filter(is_odd).cloned().collect::<Vec<_>>());
    let (named, _) = all(WorkersOptions::new().name("w03")).await;
    assert_eq!(named, expected.iter().filter(|w| w.name() == "w03").cloned().collect::<Vec<_>>());
    assert_eq!(all(WorkersOptions::new().name("w0")).await.0, []);
}

async fn what_breaks_a_limit_is_invalid(bench: &Bench) {
    let client = bench.client().await;
    let long = "x".repeat(129);
    let worker = WorkerId::new("w");
    let item = |id: &[u8]| RunningItem {
        queue: "q".into(),
        id: id.to_vec().into(),
        elapsed: ms(0),
        deadline: std::time::UNIX_EPOCH,
    };
    let changed = |change: &dyn Fn(&mut Beat)| {
        let mut beat = beat(&worker);
        change(&mut beat);
        beat
    };
    let beats = [
        (beat(&WorkerId::new("")), "between 1 and 128"),
        (beat(&WorkerId::new(&long)), "129 bytes"),
        (beat(&WorkerId::new("a\0b")), "control character"),
        (beat(&WorkerId::new("\x1b[2J")), "control character"),
        (beat(&worker.clone().with_instance("")), "instance"),
        (changed(&|beat| beat.host = long.clone()), "host"),
        (changed(&|beat| beat.language = "\n".into()), "language"),
        (changed(&|beat| beat.version = long.clone()), "version"),
        (changed(&|beat| beat.queues = vec!["a b".into()]), "queue name"),
        (changed(&|beat| beat.queues = vec!["q".into(); 1_001]), "1001 queues"),
        (changed(&|beat| beat.running = vec![item(b"x"); 1_001]), "1001 running items"),
        (changed(&|beat| beat.running = vec![item(b"")]), "between 1 and 512"),
        (changed(&|beat| beat.running = vec![item(&[255; 512]); 300]), "more than 262144"),
        (changed(&|beat| beat.acknowledged = vec![1; 101]), "101 acknowledged"),
    ];
    for (beat, says) in beats {
        let error = client.beat(&beat).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains(says), "{error}");
    }
    assert!(listed(&client).await.is_empty());
    for options in [
        WorkersOptions::new().limit(0),
        WorkersOptions::new().limit(201),
        WorkersOptions::new().name(""),
        WorkersOptions::new().queue("a b"),
        WorkersOptions::new().after(WorkerId::new("")),
    ] {
        assert_eq!(kind(client.workers(options).await), ErrorKind::Invalid);
    }
    assert_eq!(kind(client.quiet_worker("").await), ErrorKind::Invalid);
    assert_eq!(kind(client.resume_worker("\u{7f}").await), ErrorKind::Invalid);
    assert_eq!(kind(client.command_worker(&worker, &cancel("")).await), ErrorKind::Invalid);
    client.close().await;
    assert_eq!(kind(client.beat(&beat(&worker)).await), ErrorKind::Closed);
    assert_eq!(kind(client.workers(WorkersOptions::new()).await), ErrorKind::Closed);
}

async fn as_json(bench: &Bench) {
    let client = bench.client().await;
    let call = async |operation: &str, arguments: serde_json::Value| {
        let answer = client.call_registry(operation, &arguments.to_string()).await?;
        leaseq::Result::Ok(serde_json::from_str::<serde_json::Value>(&answer).unwrap())
    };
    let running = json!([
        { "queue": "q", "item_id": "x", "elapsed_ms": 7, "deadline": "2027-01-15T08:00:01Z" },
        { "queue": "q", "item_id_hex": "00ff", "elapsed_ms": 7, "deadline": "2027-01-15T08:00:01.5Z" },
    ]);
    let sent = json!({
        "name": "w", "instance": "1", "host": "h", "process": 5, "language": "l", "version": "v",
        "queues": ["q"], "slots": 2, "running": running, "memory_bytes": 1_000, "throttled": true,
        "draining": true,
        "waiting_us": [[3, 2]], "run_us": [[15, 1]], "lease_use": [],
    });
    let nothing = json!({ "quiet": false, "commands": [] });
    assert_eq!(call("beat", sent.clone()).await.unwrap(), nothing);
    let worker = json!({ "name": "w", "instance": "1" });
    for command in [
        json!({ "action": "stop" }),
        json!({ "action": "cancel", "queue": "q", "item_id_hex": "00ff" }),
    ] {
        let arguments = json!({ "worker": worker, "command": command });
        assert_eq!(call("command_worker", arguments).await.unwrap(), json!(true));
    }
    assert_eq!(call("quiet_worker", json!({ "name": "w" })).await.unwrap(), json!(null));
    let mut beat = sent.clone();
    let reply = call("beat", beat.clone()).await.unwrap();
    let stop = reply["commands"].as_array().unwrap();
    let stop = stop.iter().find(|command| command["action"] == "stop").unwrap();
    beat["acknowledged"] = json!([stop["number"]]);
    let reply = call("beat", beat).await.unwrap();
    assert_eq!(
        (&reply["quiet"], &reply["commands"][0]["item_id_hex"]),
        (&json!(true), &json!("00ff"))
    );
    let page = call("workers", json!({})).await.unwrap();
    let mut expected = sent;
    expected["seen"] = json!("2027-01-15T08:00:00Z");
    expected["quiet"] = json!(true);
    expected["commands"] = reply["commands"].clone();
    assert_eq!(page, json!({ "workers": [expected], "next": null, "skipped": 0 }));
    call("resume_worker", json!({ "name": "w" })).await.unwrap();
    let which = json!({ "name": "w", "queue": "q", "limit": 1 });
    assert_eq!(call("workers", which).await.unwrap()["next"], worker);
    assert_eq!(call("leave", worker.clone()).await.unwrap(), json!(null));
    let after = call("workers", json!({ "after": worker })).await.unwrap();
    assert_eq!(after["workers"], json!([]));
    for (operation, arguments) in [
        ("beat", json!({ "name": "w", "instance": "1", "colour": 1 })),
        ("beat", json!({ "name": "w" })),
        ("beat", json!({ "name": "w", "instance": "1", "running": [{ "queue": "q" }] })),
        ("workers", json!({ "limit": -1 })),
        ("command_worker", json!({ "worker": worker, "command": { "action": "sing" } })),
        (
            "command_worker",
            json!({ "worker": worker, "command": { "action": "cancel", "queue": "q" } }),
        ),
        (
            "command_worker",
            json!({ "worker": worker,
            "command": { "action": "cancel", "queue": "q", "item_id_hex": "0" } }),
        ),
        ("leave", json!([])),
        ("sing", json!({})),
    ] {
        assert_eq!(kind(call(operation, arguments).await), ErrorKind::Invalid);
    }
}

on_every_engine!(
    as_json,
    a_worker_is_listed_as_its_last_beat_says,
    a_worker_expires_leaves_or_comes_back,
    instances_of_one_name_are_workers_of_their_own,
    a_command_comes_until_it_is_acknowledged_or_expires,
    a_command_waits_for_a_worker_that_the_network_has_lost,
    the_commands_of_a_worker_are_limited,
    workers_are_listed_in_pages_in_the_order_of_their_names,
    what_breaks_a_limit_is_invalid,
);
