//! Another server takes over under load: with `replicas=1` and one replica nothing is lost that was acknowledged.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leaseq::{ErrorKind, Item, LeaseOptions, State, WorkQueue};
use leaseq_test_support::{Cluster, RedisServer, Sentinel, eventually};
use tokio::task::{JoinSet, block_in_place};

use crate::pair::confirmed;
use crate::support::{ms, sound};

/// Shorter than a failover, so that many calls end in the middle of one.
const TIMEOUT_MS: u64 = 1_000;
/// How long a busy machine may take until calls are answered again.
const PATIENCE: Duration = Duration::from_secs(60);

/// What callers were told.
#[derive(Default)]
struct Told {
    added: Mutex<BTreeSet<String>>,
    leased: Mutex<BTreeSet<String>>,
    /// Ids of items whose `complete` was begun, acknowledged or not.
    tried: Mutex<BTreeSet<String>>,
    completed: Mutex<BTreeSet<String>>,
    unknown: AtomicUsize,
    over: AtomicBool,
}

impl Told {
    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    fn acknowledged(&self) -> usize {
        self.added.lock().unwrap().len() + self.completed.lock().unwrap().len()
    }

    /// The answer, if there is one.
    fn answer<T>(&self, result: leaseq::Result<T>) -> Option<T> {
        if let Err(error) = &result {
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            self.unknown.fetch_add(error.outcome_unknown().into(), Ordering::Relaxed);
        }
        result.ok()
    }
}

async fn produce(queue: WorkQueue, told: Arc<Told>, producer: usize) {
    let mut number = 0;
    while told.goes_on() {
        let id = format!("{producer}-{number}");
        number += 1;
        let item = Item::new("data").with_id(id.clone());
        if told.answer(queue.add_item(item).await) == Some(true) {
            told.added.lock().unwrap().insert(id);
        }
        tokio::time::sleep(ms(1)).await;
    }
}

/// Completes every second item that it gets, so that there are items of both kinds.
async fn work(queue: WorkQueue, told: Arc<Told>) {
    // Longer than the test: no item is leased twice.
    let options = LeaseOptions::new(Duration::from_secs(3_600)).wait(Duration::ZERO);
    while told.goes_on() {
        let Some(Some(lease)) = told.answer(queue.lease(options.clone()).await) else {
            tokio::time::sleep(ms(2)).await;
            continue;
        };
        let id = lease.id_str().unwrap().to_owned();
        assert!(told.leased.lock().unwrap().insert(id.clone()), "{id} is leased twice");
        if id.ends_with(['0', '2', '4', '6', '8']) {
            told.tried.lock().unwrap().insert(id.clone());
            if told.answer(queue.complete(&lease).await) == Some(true) {
                told.completed.lock().unwrap().insert(id);
            }
        }
    }
}

/// Runs load on the server while `fail_over` changes the master, again and again, and checks what is left.
async fn nothing_is_lost(url: &str, mut fail_over: impl FnMut(usize), times: usize) {
    let told = Arc::new(Told::default());
    let mut load = JoinSet::new();
    for client in 0..3 {
        let queue = confirmed(url, TIMEOUT_MS).await.queue("load").unwrap();
        load.spawn(produce(queue.clone(), told.clone(), 2 * client));
        load.spawn(produce(queue.clone(), told.clone(), 2 * client + 1));
        load.spawn(work(queue, told.clone()));
    }
    for time in 0..times {
        let more = told.acknowledged() + 200;
        let goes_on = eventually(PATIENCE, async || told.acknowledged() >= more);
        assert!(goes_on.await, "nothing is acknowledged before change {time}");
        block_in_place(|| fail_over(time));
    }
    let more = told.acknowledged() + 200;
    let goes_on = eventually(PATIENCE, async || told.acknowledged() >= more).await;
    told.over.store(true, Ordering::Relaxed);
    load.join_all().await;
    assert!(goes_on, "nothing is acknowledged after the last change");

    let queue = confirmed(url, 30_000).await.queue("load").unwrap();
    let left = all(&queue).await;
    sound(&queue).await;
    let (added, tried) = (told.added.lock().unwrap(), told.tried.lock().unwrap());
    let completed = told.completed.lock().unwrap();
    let unknown = told.unknown.load(Ordering::Relaxed);
    println!("{} added, {} completed, {unknown} unknown", added.len(), completed.len());
    let lost: Vec<_> =
        added.iter().filter(|id| !left.contains(*id) && !tried.contains(*id)).collect();
    assert!(lost.is_empty(), "acknowledged and gone: {lost:?}");
    let back: Vec<_> = completed.intersection(&left).collect();
    assert!(back.is_empty(), "completed and back: {back:?}");
}

/// The ids of all items.
async fn all(queue: &WorkQueue) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for state in State::ALL {
        let mut cursor = None;
        loop {
            let page = queue.list(state, cursor.as_ref(), 1_000).await.unwrap();
            ids.extend(
                page.items.iter().map(|item| String::from_utf8_lossy(&item.id).into_owned()),
            );
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
    }
    ids
}

/// The master goes on without its replica for a while: what it executes now is lost when it dies.
fn cut_off(master: &RedisServer, replica: &RedisServer) {
    replica.pause();
    master.cli(&["CLIENT", "KILL", "TYPE", "replica"]);
    std::thread::sleep(ms(300));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_choose_another_master_under_load() {
    let mut set = block_in_place(Sentinel::start);
    let url = set.url();
    let change = |time| match time {
        // The old master goes on for a while beside the new one.
        0 => {
            let old = set.master().unwrap();
            set.failover();
            set.wait_for_replica(old);
        }
        _ => {
            let old = set.master().unwrap();
            let new = set.ports().into_iter().find(|port| *port != old).unwrap();
            cut_off(set.node(old), set.node(new));
            set.kill_master();
            set.node(new).resume();
            set.wait_for_master_other_than(old);
            set.node_mut(old).restart();
            set.wait_for_replica(old);
        }
    };
    nothing_is_lost(&url, change, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_of_a_cluster_takes_over_under_load() {
    let mut cluster = block_in_place(|| Cluster::start_with_replicas(RedisServer::builder()));
    let slot = cluster.slot_of("leaseq:{load}:items");
    let url = cluster.url();
    let change = |_| {
        let old = cluster.slot_owner(slot);
        let of = format!("master_port:{old}\r");
        let is_its_replica =
            |port: &u16| cluster.node(*port).cli(&["INFO", "replication"]).contains(&of);
        let new = cluster.ports().into_iter().find(is_its_replica).unwrap();
        cut_off(cluster.node(old), cluster.node(new));
        cluster.node_mut(old).kill();
        cluster.node(new).resume();
        cluster.wait_for_owner_other_than(slot, old);
        cluster.node_mut(old).restart();
        cluster.wait_for_replica(old);
    };
    nothing_is_lost(&url, change, 1).await;
}
