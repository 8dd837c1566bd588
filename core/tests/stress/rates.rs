//! Many clients lease from a queue with a rate, which changes while they do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leaseq::{
    Client, CompleteOptions, Item, LeaseOptions, ListOptions, Rate, SettingsChange, State,
    WorkQueue,
};
use leaseq_test_support::RedisServer;
use rand::rngs::StdRng;
use rand::seq::{IndexedMutRandom, IndexedRandom};
use rand::{Rng, SeedableRng};
use tokio::task::JoinSet;

use crate::support::process::Process;
use crate::support::rates::{self, Set, begin_of};
use crate::support::*;
use crate::{on_threads, seed, times};

const LEASE: Duration = Duration::from_secs(600);
const HOUR: Duration = Duration::from_secs(3_600);
const URL: &str = "LEASEQ_STRESS_URL";

fn rate(count: u32, period: Duration, burst: u32) -> Rate {
    Rate::new(count, period).burst(burst)
}

async fn set(queue: &WorkQueue, rate: Rate) -> Set {
    let change = SettingsChange::new().rate(rate).retain(HOUR);
    // A revision follows the clock.
    Set { at: queue.configure(change).await.unwrap().unwrap().revision, rate }
}

/// Leases one item after the other, sometimes several at once or without waiting, and stores with each when its lease
/// began.
async fn work(queue: WorkQueue, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    loop {
        let wait = *[ms(0), ms(5), ms(300), secs(60), secs(60), secs(60)].choose(&mut rng).unwrap();
        let options = LeaseOptions::new(LEASE).wait(wait);
        let count = if rng.random_bool(0.2) { 5 } else { 1 };
        let leases = queue.lease_many(count, options).await.unwrap();
        let begins = leases.iter().map(|lease| Some(begin_of(lease, LEASE).to_string().into()));
        let options = CompleteOptions::new().results(begins);
        let completed = queue.complete_many_with(&leases, options).await.unwrap();
        assert!(completed.into_iter().all(|done| done));
        if wait.is_zero() {
            tokio::time::sleep(ms(rng.random_range(1..20))).await;
        }
    }
}

/// When each lease began: of items that were completed, and of those that are still leased.
async fn begins(queue: &WorkQueue) -> Vec<u64> {
    let mut begins = Vec::new();
    for info in list_all_with(queue, State::Completed, &ListOptions::new()).await {
        let result = info.result.unwrap();
        begins.push(std::str::from_utf8(&result).unwrap().parse().unwrap());
    }
    for info in list_all_with(queue, State::Leased, &ListOptions::new()).await {
        begins.push(since_1970(info.at.unwrap()) - LEASE.as_millis() as u64);
    }
    begins
}

async fn fill(queue: &WorkQueue, count: usize) {
    queue.add_items((0..count).map(|_| Item::new("data"))).await.unwrap();
}

/// Changes the rate at random, and adds items meanwhile.
async fn change(queue: &WorkQueue, rng: &mut StdRng, time: Duration) -> Vec<Set> {
    let rates = [
        rate(100, secs(1), 1),
        rate(7, ms(50), 3),
        rate(300, secs(1), 10),
        rate(1, ms(20), 2),
        rate(1000, secs(60), 5),
    ];
    let mut sets = vec![set(queue, rates[0]).await];
    fill(queue, 1000).await;
    let end = Instant::now() + time;
    while Instant::now() < end {
        tokio::time::sleep(ms(rng.random_range(1..200))).await;
        if rng.random_bool(0.5) {
            fill(queue, 30).await;
        } else {
            let rate = *rates.choose(rng).unwrap();
            let change = set(queue, rate).await;
            // The revision stays if it is the same rate.
            if sets.last().unwrap().at < change.at {
                sets.push(change);
            }
        }
    }
    sets
}

/// What the rates allow until a time, without bursts.
fn allowed(sets: &[Set], end: u64) -> f64 {
    let ends = sets.iter().skip(1).map(|set| set.at).chain([end]);
    let part = |(set, end): (&Set, u64)| {
        let time = end.saturating_sub(set.at) as f64;
        time * f64::from(set.rate.count) / set.rate.period.as_millis() as f64
    };
    sets.iter().zip(ends).map(part).sum()
}

async fn the_rate_changes_while_many_lease(bench: Arc<Bench>) {
    let seed = seed();
    let own = bench.queue_in_real_time().await;
    let mut rng = StdRng::seed_from_u64(seed);
    let mut workers = JoinSet::new();
    for i in 0..16 {
        workers.spawn(work(bench.queue_in_real_time().await, seed + i));
    }
    let sets = change(&own, &mut rng, secs(4) * times() as u32).await;
    let last = set(&own, rate(1, HOUR, 1)).await;
    assert!(workers.try_join_next().is_none(), "a worker has failed");
    workers.shutdown().await;
    let begins = begins(&own).await;
    let most = allowed(&sets, last.at);
    println!("{} leases of {most:.0} allowed, {} changes", begins.len(), sets.len());
    rates::check(&[&sets[..], &[last]].concat(), &begins).unwrap();
    assert!(begins.len() as f64 > 0.5 * most, "the rates are used");
    // The checker looks at what it should.
    let slow = Set { at: sets[0].at, rate: rate(10, secs(1), 10) };
    assert!(rates::check(&[slow], &begins).is_err());
    assert_sound(&own).await;
}

on_threads!(the_rate_changes_while_many_lease);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started as a process by other tests"]
async fn process() {
    let Ok(url) = std::env::var(URL) else { return };
    let mut workers = JoinSet::new();
    for i in 0..4 {
        let client = Client::connect(&url).await.unwrap();
        workers.spawn(work(client.queue("jobs").unwrap(), i));
    }
    workers.join_next().await.unwrap().unwrap();
}

/// Processes are killed at any point: also those that were to look when the rate opens.
async fn processes_are_killed(url: &str) {
    let own = Client::connect(url).await.unwrap().queue("jobs").unwrap();
    let mut rng = StdRng::seed_from_u64(seed());
    let first = set(&own, rate(100, secs(1), 2)).await;
    fill(&own, 5000).await;
    let start = || Process::start("rates::process", &[(URL, url)]);
    let mut processes: Vec<_> = (0..4).map(|_| start()).collect();
    let (end, mut kills) = (Instant::now() + secs(5) * times() as u32, 0);
    while Instant::now() < end {
        tokio::time::sleep(ms(rng.random_range(100..600))).await;
        let process = processes.choose_mut(&mut rng).unwrap();
        assert!(!process.has_ended(), "a process has failed: see its message above");
        process.kill();
        *process = start();
        kills += 1;
    }
    let last = set(&own, rate(1, HOUR, 1)).await;
    for mut process in processes {
        assert!(!process.has_ended(), "a process has failed: see its message above");
        process.kill();
    }
    let begins = begins(&own).await;
    let most = allowed(&[first], last.at);
    println!("{} leases of {most:.0} allowed, {kills} kills", begins.len());
    rates::check(&[first, last], &begins).unwrap();
    assert!(begins.len() as f64 > 0.3 * most, "the rate is used");
    assert_sound(&own).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_are_killed_on_redis() {
    let server = RedisServer::start();
    processes_are_killed(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_are_killed_on_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?synchronous=normal", folder.path().join("queue.db").display());
    processes_are_killed(&url).await;
}

/// How often the server has executed scripts.
fn scripts(server: &RedisServer) -> u64 {
    let info = server.cli(&["INFO", "commandstats"]);
    let line = info.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
}

/// 50 clients wait. Each lease takes a few requests, and each add at most one more than itself, not 50; and a lease
/// begins soon after it is allowed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_requests_do_not_grow_with_the_clients_that_wait() {
    const CLIENTS: u64 = 50;
    let server = RedisServer::start();
    let queue = async || Client::connect(&server.url()).await.unwrap().queue("jobs").unwrap();
    let own = queue().await;
    set(&own, rate(1, ms(20), 1)).await;
    fill(&own, 3000).await;
    let mut workers = JoinSet::new();
    for _ in 0..CLIENTS {
        let queue = queue().await;
        workers.spawn(async move {
            loop {
                let options = LeaseOptions::new(LEASE).wait(secs(60));
                let lease = queue.lease(options).await.unwrap().unwrap();
                let begin = begin_of(&lease, LEASE).to_string();
                let options = CompleteOptions::new().results([Some(begin.into())]);
                queue.complete_with(&lease, options).await.unwrap();
            }
        });
    }
    let leased = async || own.counts().await.unwrap().totals.leased;
    while leased().await < 20 {
        tokio::time::sleep(ms(20)).await;
    }
    let (begun, before, begin) = (leased().await, scripts(&server), Instant::now());
    const ADDS: u64 = 200;
    for _ in 0..ADDS {
        fill(&own, 1).await;
        tokio::time::sleep(ms(10)).await;
    }
    let (leases, all) = (leased().await - begun, scripts(&server) - before);
    // Every client polls each 2 s.
    let polls = CLIENTS * (1 + begin.elapsed().as_secs() / 2);
    println!("{all} scripts for {leases} leases, {ADDS} adds, about {polls} polls");
    assert!(leases > 20, "{leases}");
    assert!(all < 5 * leases + 2 * ADDS + 2 * polls, "{all} scripts for {leases} leases");
    workers.shutdown().await;
    let mut begins = begins(&own).await;
    begins.sort_unstable();
    let mut late: Vec<u64> = begins.windows(2).map(|pair| pair[1] - pair[0] - 20).collect();
    late.sort_unstable();
    println!("late by {late:?} ms");
    assert!(late[late.len() / 2] <= 10, "{late:?}");
}
