//! Very many items whose time ends at the same moment: each step stays bounded, and nobody waits for them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::redis::{Commands, Connection};
use leaseq::{Item, Lease, LeaseOptions, State, WorkQueue};

use crate::support::redis::Redis;
use crate::support::*;
use crate::{on_threads, times};

/// A million at night.
fn many() -> usize {
    if times() > 1 { 1_000_000 } else { 5_000 }
}

/// A queue whose calls may take as long as they need.
pub(crate) async fn patient(bench: &Bench) -> WorkQueue {
    let options = options(|options| options.timeout = secs(600));
    bench.client_with(options).await.queue("jobs").unwrap()
}

/// The longest that a call beside them may take: far less than what ends them all at once would need.
const PROMPT: Duration = Duration::from_millis(250);

async fn add(queue: &WorkQueue, count: usize, item: impl Fn(usize) -> Item) {
    for from in (0..count).step_by(10_000) {
        let added = queue.add_items((from..count.min(from + 10_000)).map(&item)).await.unwrap();
        assert!(added.into_iter().all(|added| added));
    }
}

/// All completed, and retained for a minute.
async fn retain(queue: &WorkQueue, count: usize) {
    add(queue, count, |i| item(format!("{i}")).retain(secs(60))).await;
    let options = LeaseOptions::new(secs(600)).wait(Duration::ZERO);
    let mut left = count;
    while left > 0 {
        let leases = queue.lease_many(1_000, options.clone()).await.unwrap();
        left -= leases.len();
        let results = leases.iter().map(|lease| Some(lease.data().clone()));
        let options = leaseq::CompleteOptions::new().results(results);
        assert!(queue.complete_many_with(&leases, options).await.unwrap().iter().all(|done| *done));
    }
}

/// Works beside them. The longest that a call has taken, but for the few that a busy machine has held up.
pub(crate) async fn work_beside(queue: &WorkQueue, rounds: usize) -> Duration {
    let mut longest = Vec::new();
    for round in 0..rounds {
        let id = format!("beside {round}");
        let begun = Instant::now();
        assert!(queue.add_item(item(&id).priority(9)).await.unwrap());
        let (added, begun) = (begun.elapsed(), Instant::now());
        let lease = take(queue).await;
        assert_eq!(lease.id(), id.as_bytes());
        let (leased, begun) = (begun.elapsed(), Instant::now());
        assert!(queue.complete(&lease).await.unwrap());
        longest.push(added.max(leased).max(begun.elapsed()));
    }
    longest.sort();
    println!("{:?} at the median, {:?} at most", longest[rounds / 2], longest[rounds - 1]);
    longest[rounds * 9 / 10]
}

/// Ids are free at once, and the items are deleted by leases and by cleans.
async fn end_retained(bench: &Bench, count: usize) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    bench.advance(secs(60));
    assert_eq!(queue.counts().await.unwrap().completed, 0);
    let (first, last) = ("0".to_owned(), format!("{}", count - 1));
    assert!(queue.get(&last).await.unwrap().is_none());
    for id in [first, last] {
        assert!(queue.add_item(item(&id).priority(9)).await.unwrap());
        assert!(queue.complete(&take(&queue).await).await.unwrap());
    }
    let longest = work_beside(&queue, 100).await;
    let (beside, cleaned) = tokio::join!(work_beside(&queue, 100), other.light_clean());
    cleaned.unwrap();
    assert!(longest.max(beside) < PROMPT, "{longest:?} {beside:?}");
    queue.light_clean().await.unwrap();
    assert_sound(&queue).await;
}

async fn retained_items_end_together(bench: Arc<Bench>) {
    let queue = bench.queue().await;
    retain(&queue, many()).await;
    end_retained(&bench, many()).await;
    assert_eq!(queue.counts().await.unwrap().totals.completed, many() as u64 + 202);
    crate::keys::assert_empty(&bench);
}

/// Expired items in all places, with a few live ones before, between and behind them.
async fn expire(bench: &Bench, count: usize) {
    let queue = bench.queue().await;
    let live = |at: usize| item(format!("live {at}")).priority((at % 3) as u8 * 4);
    let old = |i: usize| {
        let item = item(format!("{i}")).priority((i % 3) as u8 * 4).expires_in(secs(60));
        if i.is_multiple_of(5) { item.delay(secs(60)) } else { item }
    };
    queue.add_items((0..6).map(live)).await.unwrap();
    add(&queue, count, old).await;
    queue.add_items((6..12).map(live)).await.unwrap();
    bench.advance(secs(60));
}

/// The twelve live ones, by calls that do not wait.
async fn lease_live(queue: &WorkQueue) -> Vec<Lease> {
    let (mut leases, begun) = (Vec::new(), Instant::now());
    while leases.len() < 12 {
        let more = queue.lease_many(12 - leases.len(), at_once()).await.unwrap();
        assert!(!more.is_empty(), "{} are found", leases.len());
        leases.extend(more);
    }
    println!("found behind the others after {:?}", begun.elapsed());
    leases
}

async fn items_that_expire_together_hold_up_nobody(bench: Arc<Bench>) {
    let count = many();
    expire(&bench, count).await;
    let (queue, other) = (patient(&bench).await, bench.queue().await);
    // A call that does not wait finds what is behind them all.
    let leases = lease_live(&queue).await;
    let expected = [8, 4, 0].map(|priority| {
        let is_first = move |at: &usize| at % 3 * 4 == priority;
        (0..12).filter(is_first).map(|at| format!("live {at}")).collect::<Vec<_>>()
    });
    assert_eq!(ids(&leases), expected.concat());
    assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| *done));
    let (beside, cleaned) = tokio::join!(work_beside(&queue, 100), other.light_clean());
    cleaned.unwrap();
    assert!(beside < PROMPT, "{beside:?}");
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.delayed, counts.dead), (0, 0, count as u64));
    assert_eq!(counts.totals.expired_unleased, count as u64);
    assert_sound(&queue).await;
    assert_eq!(queue.purge(State::Dead).await.unwrap(), count as u64);
    // Takes the tombstones away.
    while queue.lease(at_once()).await.unwrap().is_some() {}
    crate::keys::assert_empty(&bench);
}

on_threads!(retained_items_end_together, items_that_expire_together_hold_up_nobody);

/// Fills a queue, ends all of it, and works beside that. Returns the memory before, full and after.
async fn fill_and_end(bench: &Bench, raw: &mut Connection, expires: bool) -> [u64; 3] {
    let queue = bench.queue().await;
    work_beside(&queue, 1).await;
    let before = used_memory(raw);
    match expires {
        true => expire(bench, many()).await,
        false => retain(&queue, many()).await,
    }
    let full = used_memory(raw);
    bench.advance(secs(60));
    config(raw, "slowlog-max-len", "1000000");
    config(raw, "slowlog-log-slower-than", "0");
    ::redis::cmd("SLOWLOG").arg("RESET").exec(raw).unwrap();
    if expires {
        lease_live(&queue).await;
    }
    work_beside(&queue, 50).await;
    queue.light_clean().await.unwrap();
    config(raw, "slowlog-log-slower-than", "-1");
    queue.purge(State::Dead).await.unwrap();
    queue.purge(State::Leased).await.unwrap();
    [before, full, used_memory(raw)]
}

pub(crate) fn config(raw: &mut Connection, name: &str, value: &str) {
    ::redis::cmd("CONFIG").arg("SET").arg(name).arg(value).exec(raw).unwrap();
}

/// Without that of scripts and logs.
fn used_memory(raw: &mut Connection) -> u64 {
    ::redis::cmd("SCRIPT").arg("FLUSH").arg("SYNC").exec(raw).unwrap();
    let info: String = ::redis::cmd("INFO").arg("memory").query(raw).unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
    line.unwrap().trim().parse().unwrap()
}

/// The durations of all scripts in the log, in microseconds, sorted.
pub(crate) fn durations(raw: &mut Connection) -> Vec<u64> {
    type Entry = (u64, u64, u64, Vec<String>, String, String);
    let log: Vec<Entry> = ::redis::cmd("SLOWLOG").arg("GET").arg(-1).query(raw).unwrap();
    let scripts = log.into_iter().filter(|entry| entry.3[0].starts_with("EVAL"));
    let mut times: Vec<u64> = scripts.map(|entry| entry.2).collect();
    times.sort();
    times
}

/// A busy machine stops the server in the middle of some scripts, but not of one in four.
async fn steps_are_short(expires: bool) {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let [before, full, mut after] = fill_and_end(&bench, &mut raw, expires).await;
    let times = durations(&mut raw);
    ::redis::cmd("SLOWLOG").arg("RESET").exec(&mut raw).unwrap();
    after = after.min(used_memory(&mut raw));
    println!("{before} bytes before, {full} full, {after} after");
    assert!(
        after < before + (full - before) / 10,
        "{before} bytes before, {full} full, {after} after"
    );
    let (most, last) = (times[times.len() * 3 / 4], times[times.len() - 1]);
    println!("{} scripts: {most} us for most, {last} us at most", times.len());
    assert!(most < 15_000, "{most} us");
}

/// No script calls the server more than 1,000 times.
async fn steps_make_few_calls(expires: bool) {
    let redis = Redis::start_counting();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    fill_and_end(&bench, &mut raw, expires).await;
    let all: Vec<(String, u64)> = raw.hgetall("test-calls").unwrap();
    println!("{all:?}");
    assert!(all.len() > 4 && all.iter().all(|(_, calls)| *calls <= 1_000), "{all:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ending_retained_items_takes_short_steps() {
    steps_are_short(false).await;
    steps_make_few_calls(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ending_expired_items_takes_short_steps() {
    steps_are_short(true).await;
    steps_make_few_calls(true).await;
}
