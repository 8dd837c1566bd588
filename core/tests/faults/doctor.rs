//! The doctor on a Cluster, with few rights, and with a server that hangs.

use std::time::Instant;

use leaseq::{Client, Diagnosis, Durability, ErrorKind, Item, SettingsChange};
use leaseq_test_support::{Cluster, RedisServer};
use tokio::task::block_in_place;

use crate::pair::Pair;
use crate::support::{SOON, client};

/// The findings about the node on this port of a Cluster.
fn found(diagnosis: &Diagnosis, port: u16) -> Vec<&str> {
    let name = format!("127.0.0.1:{port}: ");
    let advice = diagnosis.advice.iter();
    advice.filter_map(|advice| advice.found.strip_prefix(&name)).collect()
}

fn finds(diagnosis: &Diagnosis, text: &str) -> bool {
    diagnosis.advice.iter().any(|advice| advice.found.contains(text))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_master_of_a_cluster_is_examined() {
    // A disk that is busy for 2 s would be a reason for a replica to take over.
    let safe = RedisServer::builder()
        .arg("--appendonly", "yes")
        .arg("--appendfsync", "always")
        .arg("--cluster-replica-no-failover", "yes");
    let mut cluster = block_in_place(|| Cluster::start_with_replicas(safe));
    let masters: Vec<u16> = cluster.ports()[..3].to_vec();
    block_in_place(|| cluster.node(masters[1]).cli(&["CONFIG", "SET", "appendfsync", "no"]));
    // On one of the three nodes, and on a replica.
    for port in [masters[0], cluster.ports()[3]] {
        let client = client(&format!("redis+cluster://127.0.0.1:{port}"), 5_000).await;
        let diagnosis = client.doctor().await.unwrap();
        assert_eq!(diagnosis.durability, Durability::Window);
        assert!(diagnosis.engine.starts_with("Redis ") || diagnosis.engine.starts_with("Valkey "));
        for (at, port) in masters.iter().enumerate() {
            let found = found(&diagnosis, *port);
            let is_lax = found.iter().any(|found| found.starts_with("appendfsync is no"));
            assert_eq!(is_lax, at == 1, "{found:?}");
            assert!(found.iter().any(|found| found.contains("may take over (1 connected)")));
            assert_eq!(diagnosis.settings[&format!("127.0.0.1:{port}: role")], "master");
        }
        let replicas = &cluster.ports()[3..];
        assert!(replicas.iter().all(|port| found(&diagnosis, *port).is_empty()), "{diagnosis:?}");
    }

    // A user who may not list the nodes.
    let url = block_in_place(|| {
        let rights = "on >pw ~leaseq:* -@all +info +eval +evalsha +config|get";
        for port in cluster.ports() {
            let set = ["ACL", "SETUSER", "blind"].into_iter().chain(rights.split(' '));
            cluster.node(port).cli(&set.collect::<Vec<_>>());
        }
        format!("redis+cluster://blind:pw@127.0.0.1:{},127.0.0.1:{}", masters[0], masters[1])
    });
    let blind = Client::connect(&url).await.unwrap();
    let diagnosis = blind.doctor().await.unwrap();
    assert!(diagnosis.advice.iter().any(|a| a.change.contains("+cluster|nodes")), "{diagnosis:?}");
    assert!(found(&diagnosis, masters[1]).iter().any(|found| found.starts_with("appendfsync")));
    assert!(!format!("{diagnosis:?}").contains("pw@"));

    // A missing master is a finding and does not end the examination.
    let client = client(&cluster.url(), 5_000).await;
    block_in_place(|| cluster.node_mut(masters[2]).kill());
    let diagnosis = client.doctor().await.unwrap();
    assert!(!diagnosis.is_fine() && diagnosis.durability >= Durability::Window, "{diagnosis:?}");
    assert!(!found(&diagnosis, masters[0]).is_empty(), "{diagnosis:?}");
}

#[tokio::test]
async fn a_server_that_keeps_torn_transactions_is_named() {
    let server = RedisServer::builder().arg("--appendonly", "yes").start();
    let client = client(&server.url(), 5_000).await;
    let diagnosis = client.doctor().await.unwrap();
    let warns = |diagnosis: &Diagnosis| {
        let is_it = |advice: &&leaseq::Advice| advice.change.contains("BGREWRITEAOF");
        diagnosis.advice.iter().find(is_it).map(|advice| advice.problem)
    };
    // A finding, except on a Valkey with the fix.
    let expected = diagnosis.engine.starts_with("Redis").then_some(false);
    if expected.is_some() {
        assert_eq!(warns(&diagnosis), expected, "{diagnosis:?}");
    }
    server.cli(&["CONFIG", "SET", "aof-load-truncated", "no"]);
    assert_eq!(warns(&client.doctor().await.unwrap()), None, "it would not start");
    server.cli(&["CONFIG", "SET", "aof-load-truncated", "yes"]);
    server.cli(&["CONFIG", "SET", "appendonly", "no"]);
    assert_eq!(warns(&client.doctor().await.unwrap()), None, "there is no such file");
}

#[tokio::test]
async fn the_report_for_a_user_with_few_rights_names_what_is_unknown() {
    let server = RedisServer::start();
    let rights = "on >pw ~leaseq:* -@all +info";
    let set = ["ACL", "SETUSER", "blind"].into_iter().chain(rights.split(' '));
    server.cli(&set.collect::<Vec<_>>());
    let url = format!("redis://blind:pw@127.0.0.1:{}/", server.port());
    let diagnosis = Client::connect(&url).await.unwrap().doctor().await.unwrap();
    assert_eq!(diagnosis.durability, Durability::Snapshot);
    assert!(finds(&diagnosis, "at best snapshots"), "{diagnosis:?}");
    assert!(!diagnosis.settings.contains_key("save") && !format!("{diagnosis:?}").contains("pw"));
}

#[tokio::test]
async fn a_server_that_hangs_is_unavailable_in_time() {
    let server = RedisServer::start();
    let client = client(&server.url(), 500).await;
    server.pause();
    let begin = Instant::now();
    let error = client.doctor().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    server.resume();
}

#[tokio::test]
async fn the_doctor_says_what_is_waited_for() {
    let pair = Pair::start();
    let plain = client(&pair.master.url(), 5_000).await.doctor().await.unwrap();
    assert!(finds(&plain, "replication is asynchronous"), "{plain:?}");
    assert!(!plain.settings.contains_key("replicas"));
    let near = pair.client(5_000).await.doctor().await.unwrap();
    assert_eq!(near.settings["replicas"], "1");
    assert!(!finds(&near, "take over"), "{near:?}");
    let url = format!("{}?replicas=2", pair.master.url());
    let more = Client::connect(&url).await.unwrap().doctor().await.unwrap();
    let problem = more.advice.iter().find(|advice| advice.found.contains("1 replicas"));
    assert!(problem.is_some_and(|advice| advice.problem), "{more:?}");
}

/// Queues are looked at by name. One that cannot be read does not hide those behind it.
#[tokio::test]
async fn a_queue_behind_an_unreadable_one_is_looked_at() {
    let server = RedisServer::start();
    let client = client(&server.url(), 5_000).await;
    for name in ["a", "b"] {
        assert!(client.queue(name).unwrap().add_item(Item::new("data")).await.unwrap());
    }
    server.cli(&["SET", "leaseq:{a}:dead", "no set"]);
    let fill = "for i = 1, 100001 do redis.call('ZADD', KEYS[1], i, i) end";
    server.cli(&["EVAL", fill, "1", "leaseq:{b}:dead"]);
    let diagnosis = client.doctor().await.unwrap();
    assert!(finds(&diagnosis, "queue b keeps 100001 dead items"), "{diagnosis:?}");
    assert!(!finds(&diagnosis, "queue a "), "{diagnosis:?}");
    let limit = SettingsChange::new().max_dead(1_000_000);
    client.queue("b").unwrap().configure(limit).await.unwrap();
    let diagnosis = client.doctor().await.unwrap();
    assert!(!finds(&diagnosis, "queue b "), "{diagnosis:?}");
}
