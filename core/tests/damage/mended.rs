//! Damage that is there.

use std::collections::BTreeSet;

use ::redis::{Connection, cmd};
use leaseq::{Damage, DeepReport, ErrorKind, LeaseOptions, Rate, SettingsChange, State, WorkQueue};

use crate::damage::{CASES, Hurt};
use crate::support::redis::{Redis, expect_waiters};
use crate::support::*;

async fn stage() -> (Bench, Connection, WorkQueue) {
    let redis = Redis::start();
    let raw = redis.server().connection();
    let bench = Bench::new(redis);
    let queue = bench.queue().await;
    (bench, raw, queue)
}

/// A check, which must change nothing, and the clean after it. A clean may find less: mending one
/// thing can put another right.
async fn clean(bench: &Bench, queue: &WorkQueue) -> (DeepReport, DeepReport) {
    let before = bench.backend().dump();
    let checked = queue.check().await.unwrap();
    assert!(bench.backend().dump() == before, "a check changes nothing");
    assert!(checked.mended.is_empty());
    (checked, queue.deep_clean().await.unwrap())
}

/// All items come, once each, and can be completed.
async fn assert_all_come(bench: &Bench, queue: &WorkQueue, expected: &BTreeSet<String>) {
    let (counts, items) = seen(queue).await;
    let live = counts.ready + counts.delayed + counts.leased + counts.dead;
    assert_eq!(live + counts.completed, items.len() as u64);
    bench.advance(secs(40 * 86_400));
    queue.light_clean().await.unwrap();
    let dead = list_all(queue, State::Dead, 1000).await;
    queue.requeue(dead.iter().map(|info| &info.id)).await.unwrap();
    let mut came = Vec::new();
    loop {
        let leases = queue.lease_many(1000, at_once()).await.unwrap();
        if leases.is_empty() {
            break;
        }
        came.extend(ids(&leases));
        assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| *done));
    }
    assert_eq!(came.len(), expected.len(), "each once");
    assert_eq!(came.into_iter().collect::<BTreeSet<_>>(), *expected);
    assert!(queue.add_items(expected.iter().map(item)).await.unwrap().iter().all(|added| *added));
    assert_sound(queue).await;
}

#[tokio::test]
async fn every_kind_is_found_and_mended() {
    for case in CASES {
        let (bench, mut raw, queue) = stage().await;
        one_of_each_state(&queue).await;
        queue.add_items((0..20).map(|i| item(format!("{i}")).priority(i % 2))).await.unwrap();
        let mut expected: BTreeSet<String> = (0..20).map(|i| format!("{i}")).collect();
        expected.extend(LIVE.map(|state| state.as_str().to_owned()));
        assert_sound(&queue).await;

        (case.hurt)(&mut Hurt { raw: &mut raw, queue: "jobs" });
        let (checked, cleaned) = clean(&bench, &queue).await;
        for damage in case.finds {
            assert!(checked.found.contains_key(damage), "{}: {checked:?}", case.name);
        }
        assert_eq!(cleaned.found, cleaned.mended, "{}", case.name);
        assert!(!cleaned.is_sound(), "{}", case.name);
        let again = queue.deep_clean().await.unwrap();
        assert!(again.is_sound(), "{}: a second clean finds {:?}", case.name, again.details);
        // A clean ends no pause.
        queue.resume().await.unwrap();
        // A new client has nothing in mind that a client of before the damage had.
        assert_all_come(&bench, &bench.queue().await, &expected).await;
    }
}

/// Mended settings are a change that whoever has read the settings before can see.
#[tokio::test]
async fn mended_settings_have_another_revision_and_no_pause_ends() {
    let (_bench, mut raw, queue) = stage().await;
    let limits = SettingsChange::new().max_dead(1);
    let before = queue.configure(limits).await.unwrap().unwrap().revision;
    let mut hurt = Hurt { raw: &mut raw, queue: "jobs" };
    let note = ["pause_note", "when\n"];
    hurt.run("HSET", "meta", &["settings", "max_dead=x", "paused", "yes", note[0], note[1]]);
    // Nobody is kept from its settings.
    assert_eq!(queue.settings().await.unwrap().paused_at, None);
    queue.deep_clean().await.unwrap();
    let mended = queue.settings().await.unwrap();
    assert_eq!((mended.max_dead, mended.revision), (None, before + 1), "the clock has not moved");
    assert_eq!((mended.paused, mended.paused_until), (true, None));
    assert_sound(&queue).await;
}

/// Damage never lets a queue give more leases than its rate allows, whether or not somebody has cleaned.
#[tokio::test]
async fn a_rate_whose_use_cannot_be_read_is_used_up() {
    for used in ["7", "", "-1 5", "x y", "99999999999999999999 1", "1e3 1", "3000 9800000000000"] {
        for cleans in [false, true] {
            let (bench, mut raw, queue) = stage().await;
            queue.add_items((0..9).map(|i| item(format!("{i}")))).await.unwrap();
            let rate = Rate::new(1, secs(1)).burst(3);
            queue.configure(SettingsChange::new().rate(rate)).await.unwrap();
            let mut hurt = Hurt { raw: &mut raw, queue: "jobs" };
            hurt.run("HSET", "meta", &["rate_used", used]);
            if cleans {
                assert_eq!(queue.deep_clean().await.unwrap().mended[&Damage::BadSettings], 1);
                assert_sound(&queue).await;
            }
            assert!(queue.counts().await.unwrap().rate_limited);
            assert_eq!(drain(&queue).await.len(), 0, "{used}");
            bench.advance(secs(2));
            assert_eq!(drain(&queue).await.len(), 2, "{used}");
            assert_sound(&queue).await;
        }
    }
}

#[tokio::test]
async fn doubles_far_apart_are_found() {
    let (bench, mut raw, queue) = stage().await;
    let names: Vec<String> = (0..5200).map(|i| format!("{i}")).collect();
    queue.add_items(names.iter().map(|id| item(id).priority(2))).await.unwrap();
    let mut hurt = Hurt { raw: &mut raw, queue: "jobs" };
    hurt.push("LPUSH", "ready:2", "0");
    hurt.push("LPUSH", "ready:2", "100");
    hurt.push("RPUSH", "ready:2", "5199");
    hurt.push("RPUSH", "ready:7", "2500");
    hurt.push("LPUSH", "ready", "2600");
    let (checked, cleaned) = clean(&bench, &queue).await;
    assert_eq!(checked.found.get(&Damage::Doubled), Some(&5), "{checked:?}");
    assert_eq!(cleaned.mended.get(&Damage::Doubled), Some(&5), "{cleaned:?}");
    assert_sound(&queue).await;
    assert_eq!(queue.counts().await.unwrap().ready, 5200);
    assert_all_come(&bench, &queue, &names.into_iter().collect()).await;
}

#[tokio::test]
async fn a_double_is_never_leased_twice_at_once() {
    let (bench, mut raw, queue) = stage().await;
    queue.add_items(["a", "b", "c"].map(item)).await.unwrap();
    let mut hurt = Hurt { raw: &mut raw, queue: "jobs" };
    hurt.push("LPUSH", "ready", "a");
    hurt.push("RPUSH", "ready:5", "b");
    hurt.push("LPUSH", "ready", "b");
    let mut came = drain(&queue).await;
    came.sort();
    assert_eq!(came, ["a", "b", "c"]);
    hurt.push("LPUSH", "ready", "c");
    assert!(drain(&queue).await.is_empty(), "in the same millisecond");
    hurt.push("LPUSH", "ready", "c");
    bench.advance(ms(1));
    assert!(drain(&queue).await.is_empty());
    queue.add_items(["d", "e"].map(item)).await.unwrap();
    for id in ["a", "b", "c"] {
        hurt.push("RPUSH", "ready", id);
    }
    let (a, b, c) = tokio::join!(queue.lease(at_once()), queue.lease(at_once()), async {
        queue.lease_many(5, LeaseOptions::new(secs(77)).wait(ms(0))).await
    });
    let mut came = Vec::from_iter([a.unwrap(), b.unwrap()].into_iter().flatten());
    came.extend(c.unwrap());
    assert_eq!(ids(&came), ["d", "e"]);
    for lease in &came {
        let info = queue.get(lease.id()).await.unwrap().unwrap();
        assert_eq!(info.at, Some(lease.deadline()), "the handle knows its deadline");
    }
}

#[tokio::test]
async fn the_order_of_those_that_were_lost_is_kept() {
    let (_bench, mut raw, queue) = stage().await;
    let names: Vec<String> = (0..250).map(|i| format!("{i}")).collect();
    queue.add_items(names.iter().map(item)).await.unwrap();
    Hurt { raw: &mut raw, queue: "jobs" }.run("UNLINK", "ready", &[]);
    let report = queue.deep_clean().await.unwrap();
    assert_eq!(report.mended.get(&Damage::Stray), Some(&250));
    assert_eq!(drain(&queue).await, names);
}

#[tokio::test]
async fn a_lease_of_before_the_damage_is_not_current_after_it() {
    let endings = format!("0:0:0:0:0:1:0:0;H{}:{}:0:0::", 16 + 5, "F".repeat(16));
    for damage in [
        "garbage",
        "0:0:0:0:0:1:0:0;H3:abc:",
        "0:0:0:0:0:1:0:0;H99:F1:0:0::",
        "0:0:0:0:0:1:0:0;H6:1:0:0::",
        "0:0:0:0:0:1:0:0;H16:F1:4294967296:0::",
        "0:0:0:0:0:1:0:0;H26:F12345678901234567890:0:0::",
        &endings,
    ] {
        let (bench, mut raw, queue) = stage().await;
        queue.add_item(item("a")).await.unwrap();
        let first = take(&queue).await;
        bench.advance(secs(10));
        let second = take(&queue).await;
        let mut hurt = Hurt { raw: &mut raw, queue: "jobs" };
        let number = hurt.number("a");
        hurt.run("HSET", "details", &[&number, damage]);
        let report = queue.deep_clean().await.unwrap();
        assert_eq!(report.mended.get(&Damage::BadDetails), Some(&1), "{damage}");
        assert!(is_lost(queue.extend(&first, secs(1)).await));
        assert!(is_lost(queue.release(&first, secs(1)).await));
        assert_eq!(state(&queue, "a").await, Some(State::Leased));
        assert!(queue.complete(&second).await.unwrap());
        assert_sound(&queue).await;
    }
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_told_and_stops_nobody() {
    for record in ["", "\0", "\0\0data", "\0\u{7f}short"] {
        let (bench, mut raw, queue) = stage().await;
        queue.add_items(["a", "b", "c"].map(item)).await.unwrap();
        let mut hurt = Hurt { raw: &mut raw, queue: "jobs" };
        let number = hurt.number("b");
        hurt.run("HSET", "items", &[&number, record]);
        hurt.run("HSET", "items", &["5", record]);
        let (checked, cleaned) = clean(&bench, &queue).await;
        for report in [&checked, &cleaned] {
            assert_eq!(report.found.get(&Damage::BadRecord), Some(&2), "{report:?}");
            assert_eq!(report.mended.get(&Damage::BadRecord), None);
        }
        let leases = queue.lease_many(3, at_once()).await.unwrap();
        assert_eq!(ids(&leases), ["a", "c"], "{record:?}");
        assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| *done));
        bench.advance(secs(10));
        if !record.is_empty() {
            assert_eq!(kind(queue.lease(at_once()).await), ErrorKind::Internal);
        }
    }
}

#[tokio::test]
async fn a_key_of_a_wrong_type_is_told_and_nothing_else_is_done() {
    for key in ["lanes", "meta", "items", "ids", "leased", "details", "wake", "delayed", "ready:9"]
    {
        let (bench, mut raw, queue) = stage().await;
        one_of_each_state(&queue).await;
        let mut hurt = Hurt { raw: &mut raw, queue: "jobs" };
        hurt.run("UNLINK", key, &[]);
        hurt.run("SET", key, &["text"]);
        let before = bench.backend().dump();
        for report in [queue.check().await.unwrap(), queue.deep_clean().await.unwrap()] {
            assert_eq!(report.found.keys().collect::<Vec<_>>(), [&Damage::WrongType], "{key}");
            assert!(report.mended.is_empty() && report.details[0].contains(key));
        }
        assert!(bench.backend().dump() == before);
    }
}

#[tokio::test]
async fn what_a_clean_mends_a_waiting_worker_gets() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    queue.add_item(item("a")).await.unwrap();
    Hurt { raw: &mut raw, queue: "jobs" }.run("UNLINK", "ready", &[]);
    let options = LeaseOptions::new(secs(10)).wait(secs(30));
    let waiting = tokio::spawn(async move { queue.lease(options).await.unwrap().unwrap() });
    for _ in 0..3 {
        other.counts().await.unwrap();
    }
    assert!(!waiting.is_finished());
    other.deep_clean().await.unwrap();
    let lease = tokio::time::timeout(ms(1500), waiting).await.unwrap().unwrap();
    assert!(other.complete(&lease).await.unwrap());
}

/// A client that looks when the rate allows a lease makes others push no token. One that cannot be there does not.
#[tokio::test]
async fn nobody_looks_without_a_rate_or_too_late() {
    let (bench, mut raw, queue) = stage().await;
    queue.configure(SettingsChange::new().max_attempts(3)).await.unwrap().unwrap();
    let (day, month) = (bench.now() + 86_400_000, bench.now() + 32 * 86_400_000);
    for (rate, look, wakes) in [(false, day, 1), (true, day, 0), (true, month, 1)] {
        if rate {
            let rate = Rate::new(1, secs(86_400));
            queue.configure(SettingsChange::new().rate(rate)).await.unwrap().unwrap();
        }
        expect_waiters(&mut raw, "jobs");
        let mut hurt = Hurt { raw: &mut raw, queue: "jobs" };
        hurt.run("HSET", "meta", &["rate_look", &format!("{look} x")]);
        assert!(queue.add_item(item(format!("{rate} {look}"))).await.unwrap());
        let tokens: u64 = cmd("LLEN").arg("leaseq:{jobs}:wake").query(&mut raw).unwrap();
        assert_eq!(tokens, wakes, "{rate} {look}");
    }
}
