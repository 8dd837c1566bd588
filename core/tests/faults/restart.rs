//! A server that restarts, forgets scripts, cuts connections or pauses writes under load: no acknowledged
//! item is lost, each item is completed once, and calls continue.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leaseq::{Client, Item};
use leaseq_test_support::{RedisServer, eventually};
use tokio::task::JoinSet;

use crate::support::{SOON, add, client, ms, sound, wait, waiting};

/// Producers and workers on one queue until they are stopped, then until the queue is empty.
struct Work {
    client: Client,
    over: Arc<AtomicBool>,
    producers: JoinSet<Vec<String>>,
    workers: JoinSet<Vec<String>>,
}

impl Work {
    async fn start(url: &str) -> Work {
        let client = client(url, 10_000).await;
        let over = Arc::new(AtomicBool::new(false));
        let (mut producers, mut workers) = (JoinSet::new(), JoinSet::new());
        for producer in 0..4 {
            let (queue, over) = (client.queue("work").unwrap(), over.clone());
            producers.spawn(async move {
                let mut ids = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    let id = format!("{producer}-{}", ids.len());
                    // Every add returns true: a retry is never treated as a second add.
                    assert!(queue.add_item(Item::new("data").with_id(&id)).await.unwrap());
                    ids.push(id);
                    tokio::time::sleep(ms(1)).await;
                }
                ids
            });
        }
        for _ in 0..8 {
            let (queue, over) = (client.queue("work").unwrap(), over.clone());
            workers.spawn(async move {
                let mut completed = Vec::new();
                loop {
                    let done = over.load(Ordering::Relaxed);
                    // Long enough for leases in flight to a call that gave up.
                    let Some(lease) = queue.lease(wait().wait(ms(1_000))).await.unwrap() else {
                        if done {
                            return completed;
                        }
                        continue;
                    };
                    assert_eq!(lease.attempt(), 1, "no lease expired and none failed");
                    assert!(queue.complete(&lease).await.unwrap(), "{:?} is gone", lease.id_str());
                    completed.push(lease.id_str().unwrap().to_owned());
                }
            });
        }
        Work { client, over, producers, workers }
    }

    /// Checks that every added item was completed once. Returns how many there were.
    async fn finish(self) -> usize {
        self.over.store(true, Ordering::Relaxed);
        let added: BTreeSet<String> =
            self.producers.join_all().await.into_iter().flatten().collect();
        let mut completed = BTreeMap::<String, u32>::new();
        for id in self.workers.join_all().await.into_iter().flatten() {
            *completed.entry(id).or_default() += 1;
        }
        assert!(completed.values().all(|times| *times == 1));
        let queue = self.client.queue("work").unwrap();
        let counts = queue.counts().await.unwrap();
        let lost: Vec<_> = added.iter().filter(|id| !completed.contains_key(*id)).collect();
        assert!(lost.is_empty(), "{lost:?} never reached a worker: {counts:?}");
        assert_eq!(completed.len(), added.len());
        assert_eq!((counts.ready, counts.leased, counts.delayed, counts.dead), (0, 0, 0, 0));
        sound(&queue).await;
        added.len()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_when_the_server_is_killed() {
    let durable = RedisServer::builder().arg("--appendonly", "yes").arg("--appendfsync", "always");
    let mut server = durable.start();
    let work = Work::start(&server.url()).await;
    let idle = client(&server.url(), 10_000).await.queue("idle").unwrap();
    let waiting_call = waiting(&idle, wait()).await;
    for _ in 0..4 {
        let before = work.client.queue("work").unwrap().counts().await.unwrap().totals.completed;
        let worked = eventually(SOON, async || {
            let totals = work.client.queue("work").unwrap().counts().await.unwrap().totals;
            totals.completed > before + 100
        });
        assert!(worked.await, "the workers do not go on");
        tokio::task::block_in_place(|| server.restart());
    }
    let other = client(&server.url(), 10_000).await.queue("idle").unwrap();
    add(&other, 1).await;
    let lease = tokio::time::timeout(SOON, waiting_call).await.expect("it goes on by itself");
    assert!(lease.unwrap().unwrap().is_some());
    assert!(work.finish().await > 400);
}

/// Disturbs the server in a loop under load.
async fn disturbed(
    pause: Duration,
    disturb: impl Fn(&RedisServer) + Send + 'static,
) -> (usize, RedisServer) {
    let server = RedisServer::start();
    let work = Work::start(&server.url()).await;
    let over = work.over.clone();
    let loud = tokio::task::spawn_blocking(move || {
        while !over.load(Ordering::Relaxed) {
            disturb(&server);
            std::thread::sleep(pause);
        }
        server
    });
    tokio::time::sleep(ms(1_200)).await;
    let done = work.finish().await;
    (done, loud.await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_forgets_its_scripts_changes_no_answer() {
    let (done, server) = disturbed(ms(2), |server| {
        server.cli(&["SCRIPT", "FLUSH"]);
    })
    .await;
    assert!(done > 40, "only {done} items");
    // The client sent the scripts again, so the server had forgotten them.
    assert!(crate::support::calls(&server)["eval"] > 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_killed_are_opened_again() {
    let (done, server) = disturbed(ms(15), |server| {
        server.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
    })
    .await;
    assert!(done > 15, "only {done} items");
    let opened = server.cli(&["INFO", "stats"]);
    println!("{}", opened.lines().nth(1).unwrap_or_default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_pauses_writes_only_delays_calls() {
    let (done, _server) = disturbed(ms(250), |server| {
        server.cli(&["CLIENT", "PAUSE", "150", "WRITE"]);
    })
    .await;
    assert!(done > 15, "only {done} items");
}
