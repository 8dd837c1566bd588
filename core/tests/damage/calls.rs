//! No script calls the server more than 1,000 times, whatever state the queue is in.

use std::collections::BTreeMap;
use std::time::Duration;

use ::redis::cmd;
use leaseq::{
    CompleteOptions, FailOptions, FollowUp, GetOptions, Lease, LeaseOptions, Missed, NewGroup, On,
    OutcomeOptions, Revision, Schedule, ScheduleRule, SettingsChange, State, WorkQueue,
};
use leaseq_test_support::eventually;

use crate::damage::Hurt;
use crate::stage::*;
use crate::support::redis::{Redis, expect_waiters, most_calls};
use crate::support::*;

const LIMIT: u64 = 1_000;
const FAR: &str = "1900000000000";

async fn adding(stage: &mut Stage) {
    let queue = stage.queue("add");
    expect_waiters(&mut stage.raw, "add");
    let items = (0..1000u64).map(|i| {
        let item = item(format!("{i}")).priority((i % 10) as u8).max_attempts(3);
        item.delay(ms(if i % 20 < 10 { 0 } else { 1 + i }))
    });
    queue.add_items(items).await.unwrap();
    // And large ones.
    let large = (0..10).map(|i| leaseq::Item::new(vec![0; 1 << 20]).with_id(format!("l{i}")));
    queue.add_items(large).await.unwrap();
}

async fn leasing(stage: &mut Stage) {
    for target in [1, 1000] {
        let queue = stage.queue(&format!("lease-{target}"));
        tombstones(&queue, 200).await;
        overdue(stage, &queue).await;
        expect_waiters(&mut stage.raw, &format!("lease-{target}"));
        let options = LeaseOptions::new(secs(60)).wait(ms(1));
        queue.lease_many(target, options).await.unwrap();
    }
    // One list of tombstones alone, as plain as can be, and an item behind them.
    let queue = stage.queue("plain");
    queue.add_items((0..1001).map(|i| item(format!("{i}")))).await.unwrap();
    queue.remove_many((0..1000).map(|i| i.to_string())).await.unwrap();
    let mut found = None;
    while found.is_none() {
        found = queue.lease(at_once()).await.unwrap();
    }
    // Large ones among tombstones.
    let queue = stage.queue("large");
    for i in 0..30 {
        queue.add_items((0..20).map(|n| item(format!("{i}-{n}")))).await.unwrap();
        let large = leaseq::Item::new(vec![0; 3 << 20]).with_id(format!("l{i}"));
        queue.add_item(large.priority(i % 3)).await.unwrap();
        queue.remove_many((0..20).map(|n| format!("{i}-{n}"))).await.unwrap();
    }
    for size in [1, 1000, 3] {
        queue.lease_many(size, at_once()).await.unwrap();
    }
    // Every number twice.
    let queue = stage.queue("doubles");
    add(&queue, "d", 500, Duration::ZERO).await;
    let numbers: Vec<String> = stage.numbers("doubles").into_values().collect();
    stage.raw("RPUSH", "doubles", "ready", &numbers);
    queue.lease_many(1000, at_once()).await.unwrap();
    again(stage, "lease").await;
}

/// Somebody waits for the ends of these items, and of one that does not exist.
async fn await_all(queue: &leaseq::WorkQueue, ids: impl Iterator<Item = String>) {
    let options = OutcomeOptions::new().wait(ms(1)).expect();
    queue.outcome_many(ids.chain(["none".to_owned()]), options).await.unwrap();
}

/// Items that are retained and have unique keys.
async fn extended(stage: &mut Stage) {
    let queue = stage.queue("extended");
    let all = |prefix: &'static str| {
        (0..1000).map(move |i| {
            let item = item(format!("{prefix}{i}")).unique(i.to_string()).retain(secs(1));
            item.unique_for(secs(1)).max_attempts(2)
        })
    };
    let results = || CompleteOptions::new().results((0..1000).map(|i| Some(i.to_string().into())));
    expect_waiters(&mut stage.raw, "extended");
    queue.add_items(all("a")).await.unwrap();
    await_all(&queue, (0..1000).map(|i| format!("a{i}"))).await;
    let replaced = queue.add_items(all("b").map(leaseq::Item::replace)).await.unwrap();
    assert!(replaced.iter().all(|added| *added));
    await_all(&queue, (0..1000).map(|i| format!("b{i}"))).await;
    let late = queue.lease_many(1000, at_once()).await.unwrap();
    queue.extend_many(&late, secs(20)).await.unwrap();
    report(&queue, &late).await;
    stage.bench.advance(secs(30));
    queue.light_clean().await.unwrap();
    queue.light_clean().await.unwrap();
    // Ready items of which each has an old entry in the list.
    let done = queue.complete_many_with(&late, results().retain(secs(1))).await.unwrap();
    assert!(done.iter().all(|done| *done));
    let look = OutcomeOptions::new().wait(ms(0));
    let ended = queue.outcome_many((0..1000).map(|i| format!("b{i}")), look).await.unwrap();
    assert!(ended.into_iter().flatten().flatten().all(|outcome| outcome.is_completed()));
    await_all(&queue, (0..1000).map(|i| format!("b{i}"))).await;
    stage.bench.advance(secs(1));
    queue.light_clean().await.unwrap();
    queue.add_items(all("c")).await.unwrap();
    let leases = queue.lease_many(1000, at_once()).await.unwrap();
    queue.release_many(&leases, Duration::ZERO).await.unwrap();
    let leases = queue.lease_many(1000, at_once()).await.unwrap();
    await_all(&queue, (0..1000).map(|i| format!("c{i}"))).await;
    let dead = FailOptions::new().dead();
    let failures = leases.iter().map(|lease| (lease, "no"));
    queue.fail_many_with(failures, dead).await.unwrap();
    let ids = leases.iter().map(leaseq::Lease::id);
    assert!(queue.requeue(ids).await.unwrap().iter().all(|done| *done));
    for _ in 0..2 {
        // Expires, and is dead the second time.
        queue.lease_many(1000, at_once()).await.unwrap();
        await_all(&queue, (0..1000).map(|i| format!("c{i}"))).await;
        stage.bench.advance(secs(30));
    }
    for size in [500, 1] {
        let items = (0..1000).map(|i| item(format!("{size} {i}")).retain(secs(1)));
        queue.add_items(items).await.unwrap();
        let leases = queue.lease_many(500, at_once()).await.unwrap();
        await_all(&queue, (0..1000).map(|i| format!("{size} {i}"))).await;
        queue.complete_and_lease(&leases, size, at_once()).await.unwrap();
        stage.bench.advance(secs(1));
    }
    cancelling(stage).await;
    queue.deep_clean().await.unwrap();
}

/// Settings that let a thousand dead and retained items go, with unique keys and results.
async fn limiting(stage: &mut Stage) {
    let queue = stage.queue("limits");
    for (cleans, prefix) in [(true, "a"), (false, "b")] {
        let no_limits = SettingsChange::new().max_dead(None).max_retained(None);
        queue.configure(no_limits.max_attempts(1).retain(secs(600))).await.unwrap();
        let all = (0..2000).map(|i| item(format!("{prefix}{i}")).unique(format!("{prefix}{i}")));
        queue.add_items(all).await.unwrap();
        let leases = lease(&queue, 2000, secs(60)).await;
        queue.fail_many(leases[..1000].iter().map(|l| (l, "no")), Duration::ZERO).await.unwrap();
        let results = (0..1000).map(|i| Some(i.to_string().into()));
        let done = CompleteOptions::new().results(results);
        queue.complete_many_with(&leases[1000..], done).await.unwrap();
        let expiring = (0..600).map(|i| item(format!("{prefix}x{i}")).expires_in(secs(1)));
        queue.add_items(expiring).await.unwrap();
        stage.bench.advance(secs(1));
        let limits = SettingsChange::new().max_dead(1).max_retained(1).max_dead_age(secs(1));
        queue.configure(limits).await.unwrap();
        expect_waiters(&mut stage.raw, "limits");
        if cleans {
            queue.light_clean().await.unwrap();
        } else {
            while queue.counts().await.unwrap().completed > 1 {
                queue.lease_many(1, at_once()).await.unwrap();
            }
        }
        stage.bench.advance(secs(600));
    }
}

/// Many keys, each with one leased item and others that wait, with all priorities.
async fn keyed(stage: &mut Stage) {
    let queue = stage.queue("keyed");
    expect_waiters(&mut stage.raw, "keyed");
    let add = async |round: u32| {
        let items = (0..1000u32).map(|i| {
            let priority = ((i + round) % 10) as u8;
            item(format!("{i}-{round}")).key(format!("{i}")).priority(priority)
        });
        queue.add_items(items).await.unwrap();
    };
    // A step takes from so many open keys.
    let some = async || {
        let minute = LeaseOptions::new(secs(60)).wait(Duration::ZERO);
        let mut leases = Vec::new();
        loop {
            let more = queue.lease_many(1000, minute.clone()).await.unwrap();
            if more.is_empty() {
                return leases;
            }
            leases.extend(more);
        }
    };
    add(0).await;
    let first = some().await;
    for round in 1..4 {
        add(round).await;
        assert_eq!(some().await.len(), 0);
    }
    assert_eq!(queue.counts().await.unwrap().held, 3000);
    // All come back into their lines, and are taken from there again.
    queue.release_many(&first, Duration::ZERO).await.unwrap();
    let again = some().await;
    let leases = again.len();
    queue.fail_many(again.iter().map(|lease| (lease, "no")), Duration::ZERO).await.unwrap();
    assert_eq!(leases, 1000);
    // Entries of lines that no longer count.
    queue.remove_many((0..1000).map(|i| format!("{i}-2"))).await.unwrap();
    let next = some().await;
    assert_eq!(next.len(), 1000);
    queue.configure(SettingsChange::new().key_limit(2)).await.unwrap();
    queue.light_clean().await.unwrap();
    assert!(!some().await.is_empty());
    let limits = |limit| (0..1000).map(move |i| (format!("{i}"), limit));
    queue.set_key_limits(limits(Some(3))).await.unwrap();
    assert_eq!(queue.get_keys((0..1000).map(|i| format!("{i}"))).await.unwrap().len(), 1000);
    // Everything expires, while the limit of all keys is raised again.
    queue.set_key_limits(limits(None)).await.unwrap();
    stage.bench.advance(secs(60));
    queue.configure(SettingsChange::new().key_limit(5)).await.unwrap();
    queue.light_clean().await.unwrap();
    let done = some().await;
    queue.complete_and_lease(&done[..500], 500, at_once()).await.unwrap();
    queue.deep_clean().await.unwrap();
    let mut measured = leaseq::Measured::default();
    measured.run.extend((0..10_000).map(|value| (value, 1)));
    for _ in 0..2 {
        assert!(queue.record_history(&measured).await.unwrap());
    }
    queue.events(leaseq::EventsOptions::new()).await.unwrap();
    assert_eq!(queue.history(leaseq::HistoryKind::Minutes).await.unwrap().len(), 1);
}

/// One clean finds something of every kind.
async fn everything_at_once(stage: &mut Stage) {
    let queue = stage.queue("everything");
    let defaults = SettingsChange::new().max_attempts(1).retain(secs(3600));
    queue.configure(defaults).await.unwrap();
    let ids = |kind: &'static str, count: usize| (0..count).map(move |i| format!("{kind}{i}"));
    let all = |kind, count| {
        ids(kind, count).enumerate().map(|(i, id)| item(&id).unique(&id).priority((i % 10) as u8))
    };
    queue.add_items(all("retained", 700)).await.unwrap();
    let results = CompleteOptions::new().results((0..700).map(|_| Some("result".into())));
    let leases = queue.lease_many(700, at_once()).await.unwrap();
    queue.complete_many_with(&leases, results).await.unwrap();
    queue.add_items(all("dead", 700)).await.unwrap();
    let leases = queue.lease_many(700, at_once()).await.unwrap();
    queue.fail_many(leases.iter().map(|l| (l, "no")), Duration::ZERO).await.unwrap();
    let timers = all("timer", 100).map(|item| item.unique_for(secs(20)));
    queue.add_items(timers).await.unwrap();
    let leases = queue.lease_many(100, at_once()).await.unwrap();
    let gone = CompleteOptions::new().retain(Duration::ZERO);
    queue.complete_many_with(&leases, gone).await.unwrap();
    queue.add_items(all("leased", 500)).await.unwrap();
    assert_eq!(queue.lease_many(500, at_once()).await.unwrap().len(), 500);
    assert_eq!(queue.cancel_many(ids("leased", 250)).await.unwrap(), [true; 250]);
    queue.add_items(all("due", 500).map(|item| item.delay(secs(20)))).await.unwrap();
    queue.add_items(all("expires", 500).map(|item| item.expires_in(secs(20)))).await.unwrap();
    for kind in ["leased", "due", "expires"] {
        await_all(&queue, ids(kind, 500)).await;
    }
    let limits = SettingsChange::new().max_dead(1).max_retained(1);
    queue.configure(limits).await.unwrap();
    expect_waiters(&mut stage.raw, "everything");
    stage.bench.advance(secs(60));
    queue.light_clean().await.unwrap();
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.completed + counts.cancelled, counts.dead, counts.leased), (1, 1, 0));
    assert_eq!((counts.ready, counts.totals.expired_unleased), (500, 500));
}

/// One lease, or one clean, finds something of every kind, and keys to open after a raised limit, whose held items have expired.
async fn everything_with_keys(stage: &mut Stage) {
    for (n, way) in ["lease", "complete_and_lease", "light_clean"].into_iter().enumerate() {
        let queue = stage.queue(&format!("keyed-{n}"));
        let ids = |kind: &'static str, count: usize| (0..count).map(move |i| format!("{kind}{i}"));
        let all = |kind, count| {
            ids(kind, count).enumerate().map(|(i, id)| item(&id).priority((i % 10) as u8))
        };
        let keyed = |kind, count| {
            let of = |(i, item): (usize, leaseq::Item)| item.key(format!("{}", i % 600));
            all(kind, count).enumerate().map(of)
        };
        let hour = LeaseOptions::new(secs(3600)).wait(Duration::ZERO);
        let lease_all = async || {
            let mut leases = Vec::new();
            while let more @ [_, ..] = &queue.lease_many(1000, hour.clone()).await.unwrap()[..] {
                leases.extend(more.iter().map(|lease| lease.id().to_vec()));
            }
            leases
        };
        queue.add_items(all("old", 200)).await.unwrap();
        let old = queue.lease_many(200, hour.clone()).await.unwrap();
        queue.add_items(keyed("first", 600)).await.unwrap();
        assert_eq!(lease_all().await.len(), 600);
        queue.add_items(keyed("held", 600)).await.unwrap();
        queue.add_items(keyed("dies", 600).map(|item| item.expires_in(secs(20)))).await.unwrap();
        assert!(lease_all().await.is_empty());
        queue.add_items(all("due", 500).map(|item| item.delay(secs(20)))).await.unwrap();
        queue.add_items(all("short", 500)).await.unwrap();
        let short = LeaseOptions::new(secs(20)).wait(Duration::ZERO);
        assert_eq!(queue.lease_many(500, short).await.unwrap().len(), 500);
        queue.add_items(all("gone", 900)).await.unwrap();
        queue.remove_many(ids("gone", 900)).await.unwrap();
        queue.add_items(all("fades", 500).map(|item| item.expires_in(secs(20)))).await.unwrap();
        await_all(&queue, ids("fades", 500)).await;
        let kept = CompleteOptions::new().retain(secs(20));
        queue.complete_many_with(&old[..100], kept).await.unwrap();
        let limits = SettingsChange::new().key_limit(3).max_dead(1).max_retained(1);
        queue.configure(limits).await.unwrap();
        expect_waiters(&mut stage.raw, queue.name());
        stage.bench.advance(secs(20));
        for _ in 0..12 {
            match way {
                "lease" => drop(queue.lease_many(1, at_once()).await.unwrap()),
                "complete_and_lease" => {
                    let done = queue.complete_and_lease(&old[100..], 1000, at_once());
                    drop(done.await.unwrap());
                }
                _ => drop(queue.light_clean().await.unwrap()),
            }
        }
        queue.deep_clean().await.unwrap();
    }
}

/// Progress of so many leases in one request: the first values are sent at once.
async fn report(queue: &WorkQueue, leases: &[Lease]) {
    for value in ["begun", "nearly"] {
        for lease in leases {
            queue.set_progress(lease, value).await.unwrap();
        }
    }
    let ids: Vec<_> = leases.iter().map(Lease::id).collect();
    let stored = async || {
        let infos = queue.get_many(&ids).await.unwrap();
        infos.into_iter().flatten().all(|info| info.progress.as_deref() == Some(b"nearly"))
    };
    assert!(eventually(secs(10), stored).await);
}

/// Items that expire: a thousand that are swept, popped, released, completed late and requeued.
async fn expiring(stage: &mut Stage) {
    let queue = stage.queue("expiring");
    let all = |prefix: &'static str| {
        (0..1000).map(move |i| {
            let item = item(format!("{prefix}{i}")).unique(format!("{prefix}{i}")).retain(secs(1));
            item.expires_in(secs(10)).priority((i % 10) as u8)
        })
    };
    expect_waiters(&mut stage.raw, "expiring");
    let hour = LeaseOptions::new(secs(3600)).wait(ms(0));
    for prefix in ["a", "b"] {
        queue.add_items(all(prefix)).await.unwrap();
        await_all(&queue, (0..1000).map(|i| format!("{prefix}{i}"))).await;
        let leases = queue.lease_many(1000, hour.clone()).await.unwrap();
        queue.release_many(&leases, Duration::ZERO).await.unwrap();
        stage.bench.advance(secs(10));
        // Nobody has looked yet.
        let ids = (0..1000).map(|i| format!("{prefix}{i}"));
        assert!(queue.get_many(ids.clone()).await.unwrap().iter().all(Option::is_some));
        if prefix == "a" {
            assert_eq!(queue.complete_many(&leases).await.unwrap(), [true; 1000]);
        } else {
            assert_eq!(queue.requeue(ids.clone()).await.unwrap(), [true; 1000]);
            queue.remove_many(ids).await.unwrap();
        }
    }
    queue.add_items(all("c")).await.unwrap();
    await_all(&queue, (0..1000).map(|i| format!("c{i}"))).await;
    let leases = queue.lease_many(1000, hour.clone()).await.unwrap();
    stage.bench.advance(secs(10));
    queue.light_clean().await.unwrap();
    queue.release_many(&leases, Duration::ZERO).await.unwrap();
    // Two steps of a clean; then what a lease pops.
    queue.add_items(all("d")).await.unwrap();
    await_all(&queue, (0..1000).map(|i| format!("d{i}"))).await;
    stage.bench.advance(secs(10));
    queue.light_clean().await.unwrap();
    queue.add_items(all("e").chain(all("f"))).await.unwrap();
    stage.bench.advance(secs(10));
    assert!(queue.lease_many(1000, hour.clone()).await.unwrap().is_empty());
    queue.add_items(all("g")).await.unwrap();
    stage.bench.advance(secs(10));
    assert!(queue.lease(hour).await.unwrap().is_none());
    assert_eq!(queue.counts().await.unwrap().totals.expired_unleased, 5000);
}

/// Items that wait and leased ones, each of which is retained or not.
async fn cancelling(stage: &mut Stage) {
    let queue = stage.queue("cancel");
    let all = |prefix: &'static str| {
        (0..1000).map(move |i| {
            let item = item(format!("{prefix}{i}")).unique(format!("{prefix}{i}")).max_attempts(1);
            item.priority((i % 10) as u8).retain(secs(i % 2))
        })
    };
    let ids = |prefix: &'static str| (0..1000).map(move |i| format!("{prefix}{i}"));
    queue.add_items(all("r")).await.unwrap();
    await_all(&queue, ids("r")).await;
    assert_eq!(queue.cancel_many(ids("r")).await.unwrap(), [true; 1000]);
    for end in ["f", "g", "l", "m"] {
        queue.add_items(all(end)).await.unwrap();
        await_all(&queue, ids(end)).await;
        let leases = queue.lease_many(1000, at_once()).await.unwrap();
        assert_eq!(queue.cancel_many(ids(end)).await.unwrap(), [true; 1000]);
        if end == "f" {
            let mut told = tokio::task::JoinSet::new();
            for lease in leases {
                told.spawn(async move { (lease.cancelled().await, lease) });
            }
            let told = told.join_all().await;
            assert!(told.iter().all(|(told, _)| *told));
            let failures = told.iter().map(|(_, lease)| (lease, "no"));
            queue.fail_many(failures, Duration::ZERO).await.unwrap();
        } else if end == "g" {
            queue.release_many(&leases, Duration::ZERO).await.unwrap();
        } else {
            stage.bench.advance(secs(30));
            if end == "l" {
                queue.light_clean().await.unwrap();
            }
            // Each reclaims a part of them.
            while queue.counts().await.unwrap().leased > 0 {
                queue.lease_many(1000, at_once()).await.unwrap();
            }
        }
    }
    assert_eq!(queue.counts().await.unwrap().totals.cancelled, 5_000);
}

/// The text of a script as the clients of the test send it.
fn text_of(stage: &Stage, script: &str) -> String {
    let text = leaseq::testing::scripts().iter().find(|(name, _)| *name == script).unwrap().1;
    let options = stage.bench.backend().with_clock(leaseq::ConnectOptions::default());
    options.patch_scripts.unwrap()(text)
}

/// Puts a token back, as a client does whose call is gone.
fn put_back(stage: &mut Stage) {
    let text = text_of(stage, "put_back");
    cmd("EVAL").arg(text).arg(1).arg("leaseq:{put-back}:wake").exec(&mut stage.raw).unwrap();
}

/// Sends a lease of 1,000 items a second time, as after a lost reply.
async fn again(stage: &mut Stage, script: &str) {
    let name = format!("again-{script}");
    let queue = stage.queue(&name);
    add(&queue, "a", 1000, Duration::ZERO).await;
    let taken = queue.lease_many(1000, at_once()).await.unwrap();
    assert_eq!(taken.len(), 1000);
    let lanes: BTreeMap<String, String> =
        cmd("HGETALL").arg(format!("leaseq:{{{name}}}:lanes")).query(&mut stage.raw).unwrap();
    let (lane, kept) = lanes.iter().max_by_key(|(_, kept)| kept.len()).unwrap();
    let text = text_of(stage, script);
    // The line that gives the keys their names; the ready lists follow.
    let named = text.lines().find(|line| line.contains(" = KEYS[1], ")).unwrap();
    let named = named.split_once(" = ").unwrap().0.replace("local ", "").to_lowercase();
    let ready = (1..10).map(|priority| format!("ready:{priority}"));
    let keys: Vec<String> =
        named.split(", ").map(str::to_owned).chain(["ready".into()]).chain(ready).collect();
    let keys: Vec<String> = keys.iter().map(|key| format!("leaseq:{{{name}}}:{key}")).collect();
    let mut retry = cmd("EVAL");
    retry.arg(&text).arg(keys.len()).arg(keys).arg(lane).arg(kept.split(' ').next().unwrap());
    let reply: Vec<::redis::Value> =
        retry.arg(0).arg(1000).arg(1000).query(&mut stage.raw).unwrap();
    assert!(matches!(&reply[2], ::redis::Value::Array(numbers) if numbers.len() == 1000));
}

async fn completing(stage: &mut Stage) {
    let queue = stage.queue("complete");
    let leases = stale(stage, &queue).await;
    assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| *done));
    // Of one priority, some of them leased no more.
    let queue = stage.queue("complete-plain");
    queue.add_items((0..1000).map(|i| item(format!("{i}")))).await.unwrap();
    let leases = lease(&queue, 1000, secs(60)).await;
    queue.remove_many((0..500).map(|i| i.to_string())).await.unwrap();
    queue.complete_many(&leases).await.unwrap();
}

async fn completing_and_leasing(stage: &mut Stage) {
    let queue = stage.queue("both");
    let leases = stale(stage, &queue).await;
    tombstones(&queue, 100).await;
    overdue(stage, &queue).await;
    expect_waiters(&mut stage.raw, "both");
    queue.complete_and_lease(&leases[..500], 500, at_once()).await.unwrap();
}

async fn settling(stage: &mut Stage) {
    let queue = stage.queue("settle");
    add(&queue, "a", 3000, Duration::ZERO).await;
    let leases = lease(&queue, 3000, secs(600)).await;
    expect_waiters(&mut stage.raw, "settle");
    queue.extend_many(&leases, secs(700)).await.unwrap();
    queue.release_many(&leases[..1000], Duration::ZERO).await.unwrap();
    queue.release_many(&leases[1000..2000], secs(5)).await.unwrap();
    let failed = leases[2000..].iter().map(|lease| (lease, "error"));
    queue.fail_many(failed, Duration::ZERO).await.unwrap();
}

async fn operating(stage: &mut Stage) {
    let queue = stage.queue("operate");
    stale(stage, &queue).await;
    expect_waiters(&mut stage.raw, "operate");
    let dead: Vec<_> = list_all(&queue, State::Dead, 1000).await;
    assert!(
        queue.requeue(dead.iter().map(|info| &info.id)).await.unwrap().iter().all(|done| *done)
    );
    add(&queue, "r", 1000, Duration::ZERO).await;
    let delayed = |i: usize| (format!("r{i}"), Revision::new().delay(secs(i as u64 % 2)));
    assert_eq!(queue.revise_many((0..1000).map(delayed)).await.unwrap(), [true; 1000]);
    let buried = queue.bury((0..1000).map(|i| format!("r{i}")), "no").await.unwrap();
    assert_eq!(buried, [true; 1000]);
    queue.remove_many((0..1000).map(|i| format!("r{i}"))).await.unwrap();
    queue.remove_many((0..1000).map(|i| format!("s{i}"))).await.unwrap();
    for state in State::ALL {
        stale(stage, &queue).await;
        tombstones(&queue, 100).await;
        queue.purge(state).await.unwrap();
        queue.purge(State::Ready).await.unwrap();
        queue.remove_many((0..1000).map(|i| format!("s{i}"))).await.unwrap();
    }
    queue.pause().await.unwrap();
    queue.resume().await.unwrap();
    let settings = SettingsChange::new().max_dead(1);
    let settings = queue.configure(settings).await.unwrap().unwrap();
    assert_eq!(queue.settings().await.unwrap(), settings);
    assert!(queue.drop_queue().await.unwrap());
}

async fn cleaning(stage: &mut Stage) {
    let queue = stage.queue("clean");
    overdue(stage, &queue).await;
    expect_waiters(&mut stage.raw, "clean");
    assert_eq!(queue.light_clean().await.unwrap().expired, 500);
    assert!(!queue.wait_until_due(ms(1)).await.unwrap());
    queue.deep_clean_if_due(secs(60)).await.unwrap();
}

async fn looking(stage: &mut Stage) {
    let queue = stage.queue("look");
    add(&queue, "t", 2000, Duration::ZERO).await;
    queue.remove_many((0..1900).map(|i| format!("t{i}"))).await.unwrap();
    queue.counts().await.unwrap();
    add(&queue, "s", 1000, Duration::ZERO).await;
    for state in State::ALL {
        queue.list(state, None, 1000).await.unwrap();
    }
    assert!(queue.get("s1").await.unwrap().is_some());
    let ids = (0..1000).map(|n| format!("s{n}"));
    for options in [GetOptions::new(), GetOptions::new().without_data()] {
        let found = queue.get_many_with(ids.clone(), options).await.unwrap();
        assert!(found.iter().all(Option::is_some));
    }
    assert!(queue.missing_rights(leaseq::Role::Worker).await.unwrap().is_empty());
}

/// Everything is wrong with every item, in queues that the server keeps in small lists, and in large ones.
async fn auditing(stage: &mut Stage) {
    for count in [400, 1500] {
        let name = format!("audit-{count}");
        let queue = stage.queue(&name);
        add(&queue, "a", count, Duration::ZERO).await;
        stage.mix_up_ids(&name);
        stage.spoil_details(&name);
        for key in ["leased", "delayed", "dead"] {
            stage.score_all(&name, key, "9800000000000");
        }
        let pairs = |a: &str, b: &str| -> Vec<String> {
            (0..count).flat_map(|i| [a.replace('#', &i.to_string()), b.to_owned()]).collect()
        };
        for key in ["leased", "delayed", "dead"] {
            stage.raw(
                "ZADD",
                &name,
                key,
                &pairs(FAR, "0")
                    .chunks(2)
                    .enumerate()
                    .flat_map(|(i, pair)| [pair[0].clone(), format!("none{i}")])
                    .collect::<Vec<_>>(),
            );
        }
        stage.raw("HSET", &name, "details", &pairs("none#", "1:0:0:0:0:0:0:0:"));
        stage.raw("HSET", &name, "ids", &pairs("nothing#", "999"));
        stage.raw("HSET", &name, "lanes", &pairs("lane#", "1 11 111"));
        stage.raw(
            "HSET",
            &name,
            "meta",
            &["last".into(), "5".into(), "gone:3".into(), "-7".into()],
        );
        assert!(!queue.check().await.unwrap().is_sound());
        assert!(!queue.deep_clean().await.unwrap().is_sound());

        // Lists of tombstones alone; strays whose ids lead to others.
        let name = format!("strays-{count}");
        let queue = stage.queue(&name);
        add(&queue, "a", count, Duration::ZERO).await;
        stage.mix_up_ids(&name);
        let zeros = vec!["0".to_owned(); 700];
        for p in 0..10 {
            let key = if p == 0 { "ready".into() } else { format!("ready:{p}") };
            stage.raw("UNLINK", &name, &key, &[]);
            stage.raw("RPUSH", &name, &key, &zeros);
        }
        assert!(!queue.deep_clean().await.unwrap().is_sound());
    }
    // One item, a thousand times in two lists.
    let queue = stage.queue("doubled");
    queue.add_item(item("a")).await.unwrap();
    let number = stage.numbers("doubled")["a"].clone();
    for key in ["ready", "ready:5"] {
        stage.raw("RPUSH", "doubled", key, &vec![number.clone(); 1000]);
    }
    let mut hurt = Hurt { raw: &mut stage.raw, queue: "doubled" };
    assert_eq!(hurt.run("HGET", "ids", &["a"]), number);
    queue.deep_clean().await.unwrap();
}

/// As many limits as one call sets.
async fn limiting_keys(stage: &mut Stage) {
    let queue = stage.queue("keys");
    let keys: Vec<String> = (0..1_000).map(|i| format!("key-{i}")).collect();
    queue.add_items(keys.iter().map(|key| item(key).key(key))).await.unwrap();
    queue.lease_many(1_000, at_once()).await.unwrap();
    for limit in [Some(2), None] {
        queue.set_key_limits(keys.iter().map(|key| (key, limit))).await.unwrap();
        assert_eq!(queue.get_keys(&keys).await.unwrap().len(), 1_000);
    }
}

/// A full queue of schedules that are due, and a tick that adds as many items as a step may.
async fn scheduling(stage: &mut Stage) {
    let queue = stage.queue("schedules");
    let schedule = |name: &str| {
        let rule = ScheduleRule::every(Duration::from_millis(100)).unwrap();
        Schedule::new(name, rule, item("data")).missed(Missed::All(1_000)).overlap()
    };
    for i in 0..150 {
        queue.put_schedule(schedule(&format!("s{i}"))).await.unwrap();
    }
    assert_eq!(queue.schedules().await.unwrap().len(), 150);
    for i in 1..150 {
        queue.remove_schedule(&format!("s{i}")).await.unwrap();
    }
    stage.bench.advance(Duration::from_secs(300));
    // A time of no schedule is removed by whoever finds it due.
    stage.raw("ZADD", "schedules", "ticks", &["5".to_owned(), "none".to_owned()]);
    queue.light_clean().await.unwrap();
    assert!(queue.counts().await.unwrap().ready >= 1_000);
    assert!(queue.check().await.unwrap().is_sound());
}

/// A full page of workers, each with commands, and as many that are gone as a beat deletes.
async fn registering(stage: &mut Stage) {
    let client = &stage.client;
    let workers: Vec<_> = (0..200).map(|i| leaseq::WorkerId::new(format!("w{i}"))).collect();
    for worker in &workers {
        client.beat(&leaseq::Beat::new(worker.clone())).await.unwrap();
        assert!(client.command_worker(worker, &leaseq::WorkerAction::Stop).await.unwrap());
    }
    let page = client.workers(leaseq::WorkersOptions::new().limit(200)).await.unwrap();
    assert_eq!(page.workers.len(), 200);
    client.quiet_worker("w1").await.unwrap();
    stage.bench.advance(secs(3_600));
    client.beat(&leaseq::Beat::new(workers[0].clone())).await.unwrap();
}

/// As many follow-ups as a step attaches, to items that live, twice, and to items that have ended with a result.
async fn attaching(stage: &mut Stage) {
    let queue = stage.queue("attach");
    let ids = || (0..128).map(|n| n.to_string());
    let attach = |name: &'static str| {
        ids().map(move |id| {
            let next = item(format!("{id} {name}")).delay(secs(60));
            (id, FollowUp::new(On::Ended, next).with_trigger())
        })
    };
    queue.add_items(ids().map(|id| item(id).retain(secs(3_600)))).await.unwrap();
    for name in ["first", "second"] {
        assert_eq!(queue.attach_many(attach(name)).await.unwrap(), [true; 128]);
    }
    let leases = lease(&queue, 128, secs(30)).await;
    let results = CompleteOptions::new().results(ids().map(|id| Some(id.into())));
    assert_eq!(queue.complete_many_with(&leases, results).await.unwrap(), [true; 128]);
    assert_eq!(queue.attach_many(attach("late")).await.unwrap(), [true; 128]);
    assert_eq!(queue.counts().await.unwrap().delayed, 3 * 128);
    assert!(queue.check().await.unwrap().is_sound());
}

/// Ends of 1,000 items, each with 16 follow-ups, and with items that the call adds.
async fn following(stage: &mut Stage) {
    let queue = stage.queue("follow-ups");
    let followed = |n: usize| {
        let follow_up =
            |k| FollowUp::new(On::Ended, item(format!("{n}-{k}")).unique(format!("{n}-{k}")));
        let item = item(n.to_string()).key("k").unique(n.to_string());
        (0..16).fold(item, |item, k| item.follow_up(follow_up(k).with_trigger()))
    };
    queue.set_key_limits([("k", Some(1_000))]).await.unwrap();
    for round in 0..3 {
        let items = (0..1_000).map(|n| followed(n).replace().expires_in(secs(60)));
        assert_eq!(queue.add_items(items).await.unwrap(), [true; 1_000]);
        let leases = lease(&queue, 1_000, secs(30)).await;
        let adds = (0..1_000).map(|n| vec![item(format!("added {n}"))]);
        match round {
            0 => drop(
                queue.complete_many_with(&leases, CompleteOptions::new().adds(adds)).await.unwrap(),
            ),
            1 => {
                let failures = leases.iter().map(|lease| (lease, "no"));
                queue.fail_many_with(failures, FailOptions::new().dead().adds(adds)).await.unwrap();
            }
            _ => drop(queue.remove_many((0..1_000).map(|n| n.to_string())).await.unwrap()),
        }
        while queue.counts().await.unwrap().ready > 0 {
            let leases = lease(&queue, 1_000, secs(30)).await;
            queue.complete_many(&leases).await.unwrap();
            queue.light_clean().await.unwrap();
        }
    }
    assert!(queue.check().await.unwrap().is_sound());
}

/// Ends of the leases of 1,000 items, each with a successor, which has taken the place of another one.
async fn succeeding(stage: &mut Stage) {
    let queue = stage.queue("successors");
    queue.set_key_limits([("k", Some(1_000))]).await.unwrap();
    let added = |n: usize| {
        let item = item(n.to_string()).key("k").unique(format!("u{n}")).unique_for(secs(1));
        item.retain(secs(60)).max_attempts(2).expires_in(secs(60)).replace().successor()
    };
    let next = |n: usize, round: usize| {
        let next = added(n).follow_up(FollowUp::new(On::Dead, item(format!("{n} died"))));
        let next = if round.is_multiple_of(2) { next.delay(secs(1)) } else { next };
        // Found by its id, or by its unique key.
        if n.is_multiple_of(3) {
            next.unique(format!("{n} {round}"))
        } else {
            next.with_id(format!("{n} {round}"))
        }
    };
    await_all(&queue, (0..1_000).map(|n| n.to_string())).await;
    for round in 0..8 {
        assert_eq!(queue.add_items((0..1_000).map(added)).await.unwrap(), [true; 1_000]);
        let leases = lease(&queue, 1_000, secs(30)).await;
        for again in 0..2 {
            let next = (0..1_000).map(|n| next(n, 2 * round + again));
            assert_eq!(queue.add_items(next).await.unwrap(), [true; 1_000]);
        }
        match round {
            0 => drop(queue.complete_many(&leases).await.unwrap()),
            1 => drop(queue.complete_and_lease(&leases[..900], 100, at_once()).await.unwrap()),
            2 => {
                let failures = leases.iter().map(|lease| (lease, "no"));
                queue.fail_many_with(failures, FailOptions::new().dead()).await.unwrap();
            }
            3 => drop(queue.release_many(&leases, Duration::ZERO).await.unwrap()),
            4 => {
                stage.bench.advance(secs(30));
                lease(&queue, 1, secs(30)).await;
                queue.light_clean().await.unwrap();
            }
            5 => drop(queue.cancel_many((0..1_000).map(|n| n.to_string())).await.unwrap()),
            6 => drop(queue.remove_many((0..1_000).map(|n| n.to_string())).await.unwrap()),
            _ => {
                // As if steps had stopped half-way.
                stage.raw("UNLINK", "successors", "leased", &[]);
                assert!(!queue.check().await.unwrap().is_sound());
                queue.deep_clean().await.unwrap();
                queue.deep_clean().await.unwrap();
            }
        }
        let checked = queue.check().await.unwrap();
        assert!(checked.is_sound(), "after round {round}: {:?}", checked.details);
        for state in leaseq::State::ALL {
            queue.purge(state).await.unwrap();
        }
        stage.bench.advance(secs(2));
        queue.light_clean().await.unwrap();
    }
    stage.raw(
        "HSET",
        "successors",
        "successors",
        &["!x".into(), "y".into(), "z".into(), "w".into()],
    );
    assert!(!queue.deep_clean().await.unwrap().is_sound());
    assert!(queue.check().await.unwrap().is_sound());
}

/// The same for other queues, one of which has forgotten a lane, and lanes of queues that are gone.
async fn delivering(stage: &mut Stage) {
    let source = stage.queue("source");
    let target = |k: usize| ["target", "other", "third"][k % 3];
    stage.raw("HSET", "third", "forward_lanes", &["forgotten".into(), "9000000000000000".into()]);
    let followed = |n: usize| {
        let follow_up = |k: usize| {
            let item = item(format!("{n}-{k}")).unique(format!("{n}-{k}")).key("k");
            FollowUp::new(On::Ended, item.queue(target(k)).expires_in(secs(60)))
        };
        (0..16).fold(item(n.to_string()), |item, k| item.follow_up(follow_up(k).with_trigger()))
    };
    source.add_items((0..1_000).map(followed)).await.unwrap();
    let leases = lease(&source, 1_000, secs(30)).await;
    let adds = (0..1_000).map(|n| vec![item(format!("added {n}")).queue("target")]);
    source.complete_many_with(&leases, CompleteOptions::new().adds(adds)).await.unwrap();
    while source.drop_queue().await.is_err() {
        source.light_clean().await.unwrap();
    }
    stage.bench.advance(secs(7_200));
    for k in 0..3 {
        let queue = stage.queue(target(k));
        assert!(queue.counts().await.unwrap().totals.added >= 5_000);
        queue.deep_clean().await.unwrap();
    }
}

/// Ends of the members of 1,000 groups, of which each ends, and of one with many places.
async fn grouping(stage: &mut Stage) {
    let (home, far) = (stage.queue("groups"), stage.queue("members"));
    let mut members = Vec::new();
    for n in 0..1_000u32 {
        let id = n.to_string();
        let next = FollowUp::new(On::Ended, item(format!("{id} next")));
        let group = home.create_group(NewGroup::new(&id).follow_up(next)).await.unwrap();
        assert!(home.seal_group(&group, 1).await.unwrap());
        members.push(item(&id).in_group(&group, 0));
    }
    far.add_items(members).await.unwrap();
    // Somebody waits for all of them.
    let mut waits = tokio::task::JoinSet::new();
    for n in 0..1_000u32 {
        let home = home.clone();
        waits.spawn(async move {
            let options = OutcomeOptions::new().wait(ms(1));
            home.group_outcome(n.to_string(), options).await.unwrap()
        });
    }
    assert!(waits.join_all().await.iter().all(Option::is_none));
    let large = home.create_group(NewGroup::new("large")).await.unwrap();
    let places = (0..1_000u32).map(|n| item(format!("m{n}")).in_group(&large, n * 100));
    far.add_items(places).await.unwrap();
    for _ in 0..2 {
        let leases = lease(&far, 1_000, secs(30)).await;
        assert_eq!(far.complete_many(&leases).await.unwrap(), [true; 1_000]);
    }
    let places = (0..1_000u32).map(|n| item(format!("l{n}")).in_group(&large, n * 100 + 1));
    far.add_items(places).await.unwrap();
    assert!(home.seal_group(&large, 100_000).await.unwrap());
    assert!(home.cancel_group(&large).await.unwrap());
    while far.light_clean().await.unwrap().next_in == Some(Duration::ZERO) {}
    assert_eq!(home.group("large").await.unwrap().unwrap().completed, 1_000);
    assert_eq!(home.group_places(&large, 99_000).await.unwrap().len(), 1_000);
    assert_eq!(lease(&home, 1_000, secs(30)).await.len(), 1_000);
    // Those that have ended are gone after a day.
    stage.bench.advance(secs(86_400));
    home.deep_clean().await.unwrap();
    assert!(home.group("0").await.unwrap().is_none());
    assert!(home.remove_group(&large).await.unwrap());
}

#[tokio::test]
async fn no_script_calls_the_server_more_than_a_thousand_times() {
    let redis = Redis::start_counting();
    let raw = redis.server().connection();
    let bench = Bench::new(redis);
    let client = bench.client().await;
    let mut stage = Stage { bench, raw, client };
    adding(&mut stage).await;
    extended(&mut stage).await;
    expiring(&mut stage).await;
    limiting(&mut stage).await;
    keyed(&mut stage).await;
    everything_at_once(&mut stage).await;
    everything_with_keys(&mut stage).await;
    leasing(&mut stage).await;
    completing(&mut stage).await;
    completing_and_leasing(&mut stage).await;
    settling(&mut stage).await;
    operating(&mut stage).await;
    cleaning(&mut stage).await;
    looking(&mut stage).await;
    auditing(&mut stage).await;
    scheduling(&mut stage).await;
    succeeding(&mut stage).await;
    following(&mut stage).await;
    attaching(&mut stage).await;
    delivering(&mut stage).await;
    grouping(&mut stage).await;
    limiting_keys(&mut stage).await;
    registering(&mut stage).await;
    put_back(&mut stage);
    let mut most = BTreeMap::new();
    for (name, _) in leaseq::testing::scripts() {
        let calls = most_calls(&mut stage.raw, name);
        most.insert(*name, calls.unwrap_or_else(|| panic!("{name} was not run")));
    }
    println!("{most:?}");
    most.retain(|_, calls| *calls > LIMIT);
    assert!(most.is_empty(), "more than {LIMIT} calls: {most:?}");
}
