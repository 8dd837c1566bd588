//! A Cluster: queues on every node, and slots that migrate under load.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leaseq::{ErrorKind, Item};
use leaseq_test_support::{Cluster, RedisServer};
use tokio::task::{JoinSet, block_in_place};

use crate::support::{SOON, add, at_once, client, lease_now, ms, sound, wait, waiting};

fn slot(cluster: &Cluster, queue: &str) -> u16 {
    cluster.slot_of(format!("leaseq:{{{queue}}}:items"))
}

async fn many_queues(cluster: &Cluster) {
    let near = client(&cluster.url(), 10_000).await;
    let names: Vec<String> = (0..12).map(|i| format!("queue-{i}")).collect();
    let owners: BTreeSet<u16> =
        names.iter().map(|name| cluster.slot_owner(slot(cluster, name))).collect();
    assert_eq!(owners.len(), 3, "they are on every node");
    let mut calls = Vec::new();
    for name in &names {
        calls.push(waiting(&near.queue(name).unwrap(), wait()).await);
    }
    let other = client(&cluster.url(), 10_000).await;
    for (name, call) in names.iter().zip(calls) {
        let queue = other.queue(name).unwrap();
        assert!(queue.add_item(Item::new("data")).await.unwrap());
        let lease = tokio::time::timeout(SOON, call).await.expect("it wakes").unwrap();
        assert!(queue.complete(&lease.unwrap().unwrap()).await.unwrap());
    }
    let known = near.queues().await.unwrap();
    assert!(names.iter().all(|name| known.contains(name)), "{known:?}");
}

/// Adds items to one queue and completes each once, until it is stopped.
async fn work(url: String, over: Arc<AtomicBool>) -> usize {
    let near = client(&url, 20_000).await;
    let queue = near.queue("moving").unwrap();
    let mut tasks = JoinSet::new();
    for producer in 0..2 {
        let (queue, over) = (queue.clone(), over.clone());
        tasks.spawn(async move {
            let mut added = 0;
            while !over.load(Ordering::Relaxed) {
                let item = Item::new("data").with_id(format!("{producer}-{added}"));
                assert!(queue.add_item(item).await.unwrap());
                added += 1;
                tokio::time::sleep(ms(2)).await;
            }
            added
        });
    }
    for _ in 0..2 {
        let queue = queue.clone();
        tasks.spawn(async move {
            while let Some(lease) = queue.lease(wait().wait(ms(1_500))).await.unwrap() {
                assert_eq!(lease.attempt(), 1);
                assert!(queue.complete(&lease).await.unwrap());
            }
            0
        });
    }
    let added: usize = tasks.join_all().await.into_iter().sum();
    let counts = queue.counts().await.unwrap();
    assert_eq!(counts.totals.completed, added as u64);
    assert_eq!((counts.ready, counts.leased), (0, 0));
    sound(&queue).await;
    added
}

async fn slots_move(cluster: &Cluster) {
    let slot = slot(cluster, "moving");
    let over = Arc::new(AtomicBool::new(false));
    let working = tokio::spawn(work(cluster.url(), over.clone()));
    for _ in 0..2 {
        tokio::time::sleep(ms(250)).await;
        block_in_place(|| {
            // Key by key, so that scripts run on a slot of which only a part has moved.
            let from = cluster.slot_owner(slot);
            let to = cluster.other_than(from);
            cluster.begin_migration(slot, from, to);
            for _ in 0..20 {
                let keys = cluster.keys_in_slot(slot, from);
                if keys.is_empty() {
                    break;
                }
                for key in keys {
                    cluster.migrate_key(&key, from, to);
                    std::thread::sleep(ms(15));
                }
            }
            cluster.finish_migration(slot, from, to);
        });
    }
    tokio::time::sleep(ms(250)).await;
    over.store(true, Ordering::Relaxed);
    let added = working.await.unwrap();
    assert!(added > 50, "only {added}");
}

/// While a slot stays half moved, calls are `Unavailable` and nothing is executed.
async fn a_migration_stalls(cluster: &Cluster) {
    let slot = slot(cluster, "stalled");
    // Long enough for every answer of the nodes: the outcome of a late one may be unknown.
    let hurried = client(&cluster.url(), 2_000).await.queue("stalled").unwrap();
    let queue = client(&cluster.url(), 30_000).await.queue("stalled").unwrap();
    add(&queue, 3).await;
    let lease = lease_now(&queue).await;
    let (from, to) = block_in_place(|| {
        let from = cluster.slot_owner(slot);
        let to = cluster.other_than(from);
        cluster.begin_migration(slot, from, to);
        let keys = cluster.keys_in_slot(slot, from);
        cluster.migrate_key(&keys[0], from, to);
        (from, to)
    });
    for error in [
        hurried.complete(&lease).await.unwrap_err(),
        hurried.add_item(Item::new("data")).await.unwrap_err(),
        hurried.lease(at_once()).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(!error.outcome_unknown(), "{error}");
    }
    block_in_place(|| {
        for key in cluster.keys_in_slot(slot, from) {
            cluster.migrate_key(&key, from, to);
        }
        cluster.finish_migration(slot, from, to);
    });
    assert!(queue.complete(&lease).await.unwrap());
    assert_eq!(queue.lease_many(10, at_once()).await.unwrap().len(), 2);
    sound(&queue).await;
}

/// A script that empties a key, which then no longer exists, must not be stopped when it reads the key
/// again because the node takes the key for a migrated one.
async fn a_key_is_emptied_while_its_slot_migrates(cluster: &Cluster) {
    let slot = slot(cluster, "emptied");
    let near = client(&cluster.url(), 10_000).await;
    let queue = near.queue("emptied").unwrap();
    // All keys that `complete` reads exist: a dead item, a delayed one, extras, a wake token.
    queue.add_item(Item::new("dead").max_attempts(1)).await.unwrap();
    queue.fail(&lease_now(&queue).await, "", Duration::ZERO).await.unwrap();
    queue.add_item(Item::new("delayed").delay(Duration::from_secs(3600))).await.unwrap();
    add(&queue, 2).await;
    let released = lease_now(&queue).await;
    let leased = lease_now(&queue).await;
    queue.release(&released, Duration::ZERO).await.unwrap();
    let (from, to) = block_in_place(|| {
        let from = cluster.slot_owner(slot);
        let to = cluster.other_than(from);
        cluster.node(from).cli(&["LPUSH", "leaseq:{emptied}:wake", "1"]);
        cluster.begin_migration(slot, from, to);
        cluster.node(from).cli(&["CONFIG", "RESETSTAT"]);
        (from, to)
    });
    let completing = {
        let queue = queue.clone();
        // One of these two is leased: after its completion no lease is left.
        tokio::spawn(async move { queue.complete_many([&leased, &released]).await })
    };
    block_in_place(|| {
        let refused = |errors: String| errors.contains("errorstat_TRYAGAIN");
        while !completing.is_finished() && !refused(cluster.node(from).cli(&["INFO", "errorstats"]))
        {
            std::thread::sleep(ms(5));
        }
        for key in cluster.keys_in_slot(slot, from) {
            cluster.migrate_key(&key, from, to);
        }
        cluster.finish_migration(slot, from, to);
    });
    assert_eq!(completing.await.unwrap().unwrap(), [true, true]);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.leased, counts.delayed, counts.dead), (0, 0, 1, 1));
    sound(&queue).await;
}

/// While the keys are on two nodes, the drop waits. Once they are together, all are dropped in one step.
async fn a_queue_is_dropped_while_its_slot_migrates(cluster: &Cluster) {
    let slot = slot(cluster, "dropped");
    let near = client(&cluster.url(), 10_000).await;
    let queue = near.queue("dropped").unwrap();
    add(&queue, 10).await;
    lease_now(&queue).await;
    let (from, to, keys) = block_in_place(|| {
        let from = cluster.slot_owner(slot);
        let to = cluster.other_than(from);
        cluster.begin_migration(slot, from, to);
        let keys = cluster.keys_in_slot(slot, from);
        cluster.migrate_key(&keys[0], from, to);
        cluster.node(from).cli(&["CONFIG", "RESETSTAT"]);
        (from, to, keys)
    });
    let dropping = {
        let queue = queue.clone();
        tokio::spawn(async move { queue.drop_queue().await })
    };
    block_in_place(|| {
        let refused = |errors: String| errors.contains("errorstat_TRYAGAIN");
        while !dropping.is_finished() && !refused(cluster.node(from).cli(&["INFO", "errorstats"])) {
            std::thread::sleep(ms(5));
        }
        for key in &keys[1..] {
            cluster.migrate_key(key, from, to);
        }
        cluster.finish_migration(slot, from, to);
    });
    assert!(dropping.await.unwrap().unwrap());
    assert_eq!(queue.counts().await.unwrap(), leaseq::Counts::default());
    assert!(!near.queues().await.unwrap().contains(&"dropped".to_owned()));
    add(&queue, 1).await;
    assert!(near.queues().await.unwrap().contains(&"dropped".to_owned()));
    sound(&queue).await;
}

/// While a slot migrates, waiting on its queue must not flood the nodes with connections.
async fn waiting_on_a_moving_slot_is_quiet(cluster: &Cluster) {
    let slot = slot(cluster, "quiet");
    let near = client(&cluster.url(), 10_000).await;
    let queue = near.queue("quiet").unwrap();
    add(&queue, 1).await;
    let lease = lease_now(&queue).await;
    assert!(queue.complete(&lease).await.unwrap());
    let call = waiting(&queue, wait()).await;
    let opened = |cluster: &Cluster| -> u64 {
        let opened = |port| {
            let stats = cluster.node(port).cli(&["INFO", "stats"]);
            let line = stats.lines().find_map(|l| l.strip_prefix("total_connections_received:"));
            line.unwrap().parse::<u64>().unwrap()
        };
        cluster.ports().into_iter().map(opened).sum()
    };
    let (from, to, before) = block_in_place(|| {
        let from = cluster.slot_owner(slot);
        let to = cluster.other_than(from);
        cluster.begin_migration(slot, from, to);
        let before = opened(cluster);
        // The client cannot listen again: neither node has the list.
        cluster.node(from).cli(&["CLIENT", "KILL", "TYPE", "normal"]);
        (from, to, before)
    });
    tokio::time::sleep(Duration::from_secs(3)).await;
    let connections = block_in_place(|| {
        let after = opened(cluster);
        for key in cluster.keys_in_slot(slot, from) {
            cluster.migrate_key(&key, from, to);
        }
        cluster.finish_migration(slot, from, to);
        after - before
    });
    println!("{connections} connections in 3 s");
    assert!(connections < 30, "{connections} connections in 3 s");
    let other = client(&cluster.url(), 10_000).await.queue("quiet").unwrap();
    assert!(other.add_item(Item::new("data")).await.unwrap());
    let lease = tokio::time::timeout(SOON, call).await.expect("it wakes").unwrap();
    assert!(lease.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_serves_many_queues_while_slots_move() {
    let cluster = block_in_place(Cluster::start);
    tokio::join!(many_queues(&cluster), a_migration_stalls(&cluster));
    a_key_is_emptied_while_its_slot_migrates(&cluster).await;
    a_queue_is_dropped_while_its_slot_migrates(&cluster).await;
    slots_move(&cluster).await;
    waiting_on_a_moving_slot_is_quiet(&cluster).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_do_not_name_their_host_are_reached_by_the_one_that_was_asked() {
    let nameless =
        RedisServer::builder().arg("--cluster-preferred-endpoint-type", "unknown-endpoint");
    let cluster = block_in_place(|| Cluster::start_with(nameless));
    let near = client(&cluster.url(), 1_500).await;
    for i in 0..6 {
        let queue = near.queue(&format!("q{i}")).unwrap();
        let call = waiting(&queue, wait()).await;
        assert!(queue.add_item(Item::new("data")).await.unwrap());
        let lease = tokio::time::timeout(SOON, call).await.expect("it wakes").unwrap();
        assert!(queue.complete(&lease.unwrap().unwrap()).await.unwrap());
    }
}
