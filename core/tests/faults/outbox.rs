//! Follow-ups for other queues: lost replies, full servers, missing rights, killed clients and moving slots.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leaseq::{Client, CompleteOptions, FollowUp, Item, On, WorkQueue};
use leaseq_test_support::{Cluster, RedisServer, Then, eventually};
use tokio::task::block_in_place;

use crate::support::{SOON, at_once, behind_proxy, client, is_script, lease_now, ms, sound, wait};

fn then(id: &str, target: &str) -> Item {
    let follow_up = Item::new("data").with_id(format!("{id}-then")).queue(target);
    Item::new("data").with_id(id).follow_up(FollowUp::new(On::Completed, follow_up))
}

async fn ids(queue: &WorkQueue) -> Vec<String> {
    let leases = queue.lease_many(1_000, at_once()).await.unwrap();
    let ids = leases.iter().map(|lease| lease.id_str().unwrap().to_owned()).collect();
    queue.complete_many(&leases).await.unwrap();
    ids
}

#[tokio::test]
async fn replies_are_lost_on_the_way() {
    let (_server, proxy, client) = behind_proxy(4_000).await;
    let mut number = 0;
    // The server must know the scripts.
    for (script, then_what, times) in [
        ("none", Then::Close, 0),
        ("distribute", Then::Close, 1),
        ("outbox", Then::Close, 1),
        ("outbox", Then::Close, 3),
        ("forward", Then::Close, 1),
        ("forward", Then::Close, 3),
        ("forward", Then::KeepOpen, 1),
    ] {
        number += 1;
        let source = client.queue(&format!("source-{number}")).unwrap();
        let target = client.queue(&format!("target-{number}")).unwrap();
        for id in ["a", "b"] {
            assert!(source.add_item(then(id, target.name())).await.unwrap());
        }
        let leases = source.lease_many(2, at_once()).await.unwrap();
        let of = if script == "forward" { &target } else { &source };
        if times > 0 {
            proxy.drop_replies(is_script(script, of.name()), times, then_what);
        }
        assert_eq!(source.complete_many(&leases).await.unwrap(), [true; 2]);
        // Whatever the finisher could not do in time, a cleaner does.
        let cleaner = Client::connect(&proxy.url()).await.unwrap();
        cleaner.queue(source.name()).unwrap().light_clean().await.unwrap();
        assert_eq!(ids(&target).await, ["a-then", "b-then"], "{script} {times}");
        cleaner.queue(source.name()).unwrap().light_clean().await.unwrap();
        assert!(ids(&target).await.is_empty(), "{script} {times}");
        sound(&source).await;
        sound(&target).await;
    }
}

#[tokio::test]
async fn a_full_server_keeps_them_until_there_is_room() {
    let server = RedisServer::start();
    let near = client(&server.url(), 300).await;
    let (source, target) = (near.queue("source").unwrap(), near.queue("target").unwrap());
    for id in ["a", "b"] {
        source.add_item(then(id, "target")).await.unwrap();
    }
    let own = CompleteOptions::new().add_items([Item::new("data").with_id("own")]);
    let leases = source.lease_many(2, at_once()).await.unwrap();
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    assert!(source.complete_with(&leases[0], own).await.unwrap());
    assert!(source.complete(&leases[1]).await.unwrap());
    assert_eq!(target.queue_len().await.unwrap(), 0);
    assert_eq!(ids(&source).await, ["own"]);
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    // Only a cleaner is running.
    let cleaner = client(&server.url(), 5_000).await.queue("source").unwrap();
    assert!(cleaner.wait_until_due(Duration::from_secs(60)).await.unwrap());
    cleaner.light_clean().await.unwrap();
    assert_eq!(ids(&target).await, ["a-then", "b-then"]);
    sound(&source).await;
    sound(&target).await;
}

/// A worker that may use one queue only leaves the entries to others, and pays little for that.
#[tokio::test]
async fn who_has_no_rights_leaves_them_to_others() {
    let server = RedisServer::start();
    let all = client(&server.url(), 5_000).await;
    let rules = ["~leaseq:{source}:*", "~leaseq:queues", "+@all"];
    server.cli(&[&["ACL", "SETUSER", "one", "reset", "on", ">pw"], &rules[..]].concat());
    let url = format!("redis://one:pw@127.0.0.1:{}/", server.port());
    let one = client(&url, 5_000).await.queue("source").unwrap();
    let source = all.queue("source").unwrap();
    for n in 0..20 {
        source.add_item(then(&n.to_string(), "target")).await.unwrap();
    }
    for _ in 0..10 {
        assert!(one.complete(&lease_now(&one).await).await.unwrap());
    }
    assert_eq!(all.queue("target").unwrap().queue_len().await.unwrap(), 0);
    // The next lease of a worker that may use both sends all.
    let lease = lease_now(&source).await;
    let arrived = async || server.cli(&["LLEN", "leaseq:{target}:ready"]).trim() == "10";
    assert!(eventually(SOON, arrived).await);
    assert!(source.complete(&lease).await.unwrap());
    assert_eq!(ids(&all.queue("target").unwrap()).await.len(), 11);
    sound(&source).await;
}

/// Chains lead through queues on different nodes while the slots of these move.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn slots_of_both_queues_move() {
    let cluster = Arc::new(block_in_place(Cluster::start));
    let names = ["move-a", "move-b", "move-c"];
    let over = Arc::new(AtomicBool::new(false));
    let near = client(&cluster.url(), 20_000).await;
    let mut tasks = Vec::new();
    for name in names {
        let (url, over) = (cluster.url(), over.clone());
        tasks.push(tokio::spawn(async move {
            let queue = client(&url, 20_000).await.queue(name).unwrap();
            let mut came = BTreeMap::<String, usize>::new();
            while !over.load(Ordering::Relaxed) {
                let Some(lease) = queue.lease(wait().wait(ms(200))).await.unwrap() else {
                    continue;
                };
                if queue.complete(&lease).await.unwrap() {
                    *came.entry(lease.id_str().unwrap().to_owned()).or_default() += 1;
                }
            }
            came
        }));
    }
    let first = near.queue(names[0]).unwrap();
    let mut added = 0;
    let mut add = async || {
        for _ in 0..20 {
            let step =
                |k: usize| Item::new("data").with_id(format!("{added}-{k}")).queue(names[k % 3]);
            let chain = (0..5)
                .rev()
                .fold(step(5), |last, k| step(k).follow_up(FollowUp::new(On::Completed, last)));
            assert!(first.add_item(chain).await.unwrap());
            added += 1;
            tokio::time::sleep(ms(2)).await;
        }
        added
    };
    for name in names {
        add().await;
        let cluster = cluster.clone();
        block_in_place(|| {
            let slot = cluster.slot_of(format!("leaseq:{{{name}}}:items"));
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
                    std::thread::sleep(ms(5));
                }
            }
            cluster.finish_migration(slot, from, to);
        });
    }
    let added = add().await;
    let done = async || {
        for name in names {
            let queue = near.queue(name).unwrap();
            queue.light_clean().await.unwrap();
            let counts = queue.counts().await.unwrap();
            if counts.ready + counts.leased > 0 {
                return false;
            }
        }
        true
    };
    for _ in 0..400 {
        if done().await && done().await {
            break;
        }
        tokio::time::sleep(ms(50)).await;
    }
    over.store(true, Ordering::Relaxed);
    let mut came = BTreeMap::new();
    for task in tasks {
        came.append(&mut task.await.unwrap());
    }
    for n in 0..added {
        for k in 0..6 {
            assert_eq!(came.get(&format!("{n}-{k}")), Some(&1), "{n}-{k}");
        }
    }
    for name in names {
        sound(&near.queue(name).unwrap()).await;
    }
}
