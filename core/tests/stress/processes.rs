//! Processes that share a file, make random calls on unique keys, and are killed at any point.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use leaseq::{Client, Item, WorkQueue};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::audit::{Auditor, Violations};
use crate::calls::{Caller, names};
use crate::keys::nothing_is_left;
use crate::support::process::Process;
use crate::support::*;
use crate::{seed, times};

const URL: &str = "LEASEQ_STRESS_URL";
const SEED: &str = "LEASEQ_STRESS_SEED";
const PRODUCES: &str = "LEASEQ_STRESS_PRODUCES";
const PROCESSES: u64 = 4;

async fn queue(url: &str) -> WorkQueue {
    Client::connect(url).await.unwrap().queue("jobs").unwrap()
}

fn start(url: &str, seed: u64, produces: bool) -> Process {
    let (seed, produces) = (seed.to_string(), produces.to_string());
    Process::start("processes::work", &[(URL, url), (SEED, &seed), (PRODUCES, &produces)])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started as a process by other tests"]
async fn work() {
    let Ok(url) = std::env::var(URL) else { return };
    let number = |name| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let queue = queue(&url).await;
    if std::env::var(PRODUCES).unwrap() == "true" {
        return produce(&queue, number(SEED)).await;
    }
    let (names, leases, tally) = (Arc::new(names()), Arc::default(), Arc::default());
    let mut callers = tokio::task::JoinSet::<()>::new();
    for task in 0..3 {
        let rng = StdRng::seed_from_u64(number(SEED) + task);
        let (queue, leases, tally) = (queue.clone(), Arc::clone(&leases), Arc::clone(&tally));
        let mut caller = Caller { queue, rng, names: names.clone(), leases, tally, drops: false };
        callers.spawn(async move {
            loop {
                caller.call().await;
            }
        });
    }
    callers.join_next().await.unwrap().unwrap();
}

/// Asks for the same work until it has been done 100 times, by anybody.
async fn produce(queue: &WorkQueue, process: u64) {
    let mut adds = tokio::task::JoinSet::new();
    for task in 0..25 {
        let queue = queue.clone();
        adds.spawn(async move {
            for round in 0.. {
                let id = format!("{process}-{task}-{round}");
                let item = Item::new("").with_id(id).unique("same").unique_for(ms(5));
                queue.add_item(item).await.unwrap();
                if queue.counts().await.unwrap().totals.completed >= 100 {
                    break;
                }
            }
        });
    }
    adds.join_all().await;
}

fn now() -> u64 {
    since_1970(SystemTime::now())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_are_killed_leave_no_key_behind() {
    let (folder, seed) = (tempfile::tempdir().unwrap(), seed());
    let url = format!("sqlite:{}?synchronous=normal", folder.path().join("queue.db").display());
    let mut rng = StdRng::seed_from_u64(seed);
    let own = queue(&url).await;
    own.light_clean().await.unwrap();
    let mut auditor = Auditor::new(&url);
    let mut processes: Vec<_> = (0..PROCESSES).map(|i| start(&url, seed + 10 * i, false)).collect();
    let (end, mut kills) = (Instant::now() + secs(3) * times() as u32, 0);
    while Instant::now() < end {
        tokio::time::sleep(ms(rng.random_range(5..150))).await;
        assert_eq!(auditor.look(now), Violations::default());
        let process = &mut processes[rng.random_range(0..PROCESSES as usize)];
        assert!(!process.has_ended(), "a process has failed: see its message above");
        process.kill();
        kills += 1;
        *process = start(&url, seed + 10 * (PROCESSES + kills), false);
    }
    for mut process in processes {
        assert!(!process.has_ended(), "a process has failed: see its message above");
        process.kill();
    }
    let totals = own.counts().await.unwrap().totals;
    println!("{kills} kills, {totals:?}");
    assert!(kills > 10 && totals.added > 100, "{kills} kills, {totals:?}");
    nothing_is_left(&own, |_| std::thread::sleep(ms(1_100))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_ask_for_the_same_work_get_it_once_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?synchronous=normal", folder.path().join("queue.db").display());
    let own = queue(&url).await;
    own.light_clean().await.unwrap();
    let mut auditor = Auditor::new(&url);
    let mut processes: Vec<_> = (0..PROCESSES).map(|i| start(&url, i, true)).collect();
    let begun = Instant::now();
    while own.counts().await.unwrap().totals.completed < 100 {
        assert!(begun.elapsed() < secs(60), "{:?}", own.counts().await);
        let options = leaseq::LeaseOptions::new(secs(10)).wait(secs(10));
        let leases = own.lease_many(10, options).await.unwrap();
        assert_eq!(leases.len(), 1, "one at a time");
        assert_eq!(auditor.look(now), Violations::default());
        assert!(own.complete(&leases[0]).await.unwrap());
    }
    for process in &mut processes {
        let ended = leaseq_test_support::eventually(secs(20), async || process.has_ended()).await;
        assert!(ended, "a producer goes on");
    }
    own.lease_many(10, at_once()).await.unwrap();
    let counts = own.counts().await.unwrap();
    assert!(counts.leased <= 1 && counts.ready == 0, "{counts:?}");
    assert_sound(&own).await;
    assert_eq!(own.purge(leaseq::State::Leased).await.unwrap(), counts.leased);
    let free = async || own.add_item(Item::new("").unique("same")).await.unwrap();
    assert!(leaseq_test_support::eventually(Duration::from_secs(1), free).await);
}
