//! Very many held items: a limit that is raised or lowered, and the steps that follow, stay bounded.

use std::sync::Arc;
use std::time::Duration;

use ::redis::{Commands, Connection};
use leaseq::{Lease, LeaseOptions, SettingsChange, WorkQueue};

use crate::many::{config, durations, patient, work_beside};
use crate::support::redis::Redis;
use crate::support::*;
use crate::{on_threads, times};

/// The highest limit of a key.
const MOST: usize = 1_000;

/// A hundred thousand at night.
fn many() -> usize {
    if times() > 1 { 100_000 } else { 3_000 }
}

fn at_once() -> LeaseOptions {
    LeaseOptions::new(secs(3_600)).wait(Duration::ZERO)
}

async fn add(queue: &WorkQueue, count: usize, key: impl Fn(usize) -> String) {
    for from in (0..count).step_by(10_000) {
        let items = (from..count.min(from + 10_000)).map(|i| item(i.to_string()).key(key(i)));
        assert!(queue.add_items(items).await.unwrap().into_iter().all(|added| added));
    }
}

/// Leases until nothing is left that may be leased. A step has a budget, so a call may get nothing though something is
/// left: it has held items meanwhile.
async fn lease_all(queue: &WorkQueue) -> Vec<Lease> {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let more = queue.lease_many(1_000, at_once()).await.unwrap();
        let counts = queue.counts().await.unwrap();
        let now = Some((counts.ready, counts.held, counts.leased));
        if more.is_empty() && before == now {
            return all;
        }
        all.extend(more);
        before = now;
    }
}

async fn set_limit(queue: &WorkQueue, limit: u32) {
    queue.configure(SettingsChange::new().key_limit(limit)).await.unwrap().unwrap();
}

async fn complete(queue: &WorkQueue, leases: &[Lease]) {
    for leases in leases.chunks(1_000) {
        assert!(queue.complete_many(leases).await.unwrap().into_iter().all(|done| done));
    }
}

fn numbers(leases: &[Lease]) -> Vec<usize> {
    leases.iter().map(|lease| lease.id_str().unwrap().parse().unwrap()).collect()
}

/// A place for each of so many keys at once.
async fn raise_for_many_keys(queue: &WorkQueue, count: usize) {
    add(queue, 2 * count, |i| format!("key {}", i % count)).await;
    let first = lease_all(queue).await;
    assert_eq!((first.len(), queue.counts().await.unwrap().held), (count, count as u64));
    set_limit(queue, 2).await;
    work_beside(queue, 20).await;
    let second = lease_all(queue).await;
    // An item is not leased before another one of its key; here each key has one left.
    let mut held = numbers(&second);
    held.sort_unstable();
    assert!(held.into_iter().eq(count..2 * count));
    complete(queue, &first).await;
    complete(queue, &second).await;
}

/// All items of one key: its limit becomes the highest one, then one below the number of current leases.
async fn raise_and_lower_for_one_key(queue: &WorkQueue, count: usize) {
    set_limit(queue, 1).await;
    add(queue, count, |_| "one".to_owned()).await;
    let first = lease_all(queue).await;
    assert_eq!((first.len(), queue.counts().await.unwrap().held), (1, count as u64 - 1));
    queue.set_key_limits([("one", Some(MOST as u32))]).await.unwrap();
    work_beside(queue, 20).await;
    let most = lease_all(queue).await;
    assert!(numbers(&most).into_iter().eq(1..MOST), "in their order");
    queue.set_key_limits([("one", Some(3))]).await.unwrap();
    work_beside(queue, 20).await;
    assert!(lease_all(queue).await.is_empty());
    complete(queue, &first).await;
    let (last, others) = most.split_last_chunk::<2>().map(|(rest, last)| (last, rest)).unwrap();
    complete(queue, others).await;
    let next = lease_all(queue).await;
    assert_eq!(numbers(&next), [MOST], "two others are current");
    complete(queue, last).await;
    assert_eq!(numbers(&lease_all(queue).await), [MOST + 1, MOST + 2]);
}

async fn limits_of_many_held_items_are_raised_and_lowered(bench: Arc<Bench>) {
    let queue = patient(&bench).await;
    raise_for_many_keys(&queue, many()).await;
    raise_and_lower_for_one_key(&queue, many()).await;
    assert_sound(&queue).await;
}

on_threads!(limits_of_many_held_items_are_raised_and_lowered);

fn watch(raw: &mut Connection) {
    config(raw, "slowlog-max-len", "1000000");
    config(raw, "slowlog-log-slower-than", "0");
    ::redis::cmd("SLOWLOG").arg("RESET").exec(raw).unwrap();
}

/// A busy machine stops the server in the middle of some scripts, but not of one in four.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_changed_in_short_steps() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let queue = patient(&bench).await;
    watch(&mut raw);
    raise_for_many_keys(&queue, many()).await;
    raise_and_lower_for_one_key(&queue, many()).await;
    // Whatever is long is read once, however many items of a step have it.
    type Entry = (u64, u64, u64, Vec<String>, String, String);
    let log: Vec<Entry> = ::redis::cmd("SLOWLOG").arg("GET").arg(-1).query(&mut raw).unwrap();
    let reads = log
        .iter()
        .map(|entry| &entry.3[..])
        .filter(|call| call[0] == "HMGET" && call[1].ends_with(":places"));
    let (mut looks, mut distinct) = (0, std::collections::BTreeSet::new());
    for call in reads {
        distinct.clear();
        assert!(call[2..].iter().all(|key| distinct.insert(key)), "{call:?}");
        looks += 1;
    }
    assert!(looks > 5, "{looks}");
    let times = durations(&mut raw);
    let (most, last) = (times[times.len() * 3 / 4], times[times.len() - 1]);
    println!("{} scripts: {most} us for most, {last} us at most", times.len());
    assert!(most < 30_000, "{most} us");
}

/// No script calls the server more than 1,000 times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_changed_with_few_calls_in_each_step() {
    let redis = Redis::start_counting();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let queue = patient(&bench).await;
    raise_for_many_keys(&queue, many()).await;
    raise_and_lower_for_one_key(&queue, many()).await;
    let all: Vec<(String, u64)> = raw.hgetall("test-calls").unwrap();
    println!("{all:?}");
    assert!(all.len() > 4 && all.iter().all(|(_, calls)| *calls <= 1_000), "{all:?}");
}
