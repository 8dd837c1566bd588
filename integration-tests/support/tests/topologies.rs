//! Cluster, sentinels and TLS behave as the other tests rely on.

use std::time::Duration;

use leaseq_test_support::{Cluster, RedisServer, Sentinel, TlsServer, eventually_blocking};

#[test]
fn a_slot_moves_between_cluster_nodes() {
    let cluster = Cluster::start();
    let slot = cluster.slot_of("{q}:a");
    let from = cluster.slot_owner(slot);
    let to = cluster.other_than(from);
    for key in ["{q}:a", "{q}:b", "{q}:c"] {
        cluster.node(from).cli(&["SET", key, "1"]);
    }

    cluster.begin_migration(slot, from, to);
    assert_eq!(cluster.keys_in_slot(slot, from).len(), 3);
    cluster.migrate_key("{q}:a", from, to);
    let asked = redis::cmd("GET").arg("{q}:a").query::<()>(&mut cluster.node(from).connection());
    assert_eq!(asked.unwrap_err().code(), Some("ASK"));
    cluster.migrate_key("{q}:b", from, to);
    cluster.migrate_key("{q}:c", from, to);
    cluster.finish_migration(slot, from, to);
    assert_eq!(cluster.slot_owner(slot), to);
    assert_eq!(cluster.node(to).cli(&["GET", "{q}:c"]), "1");

    cluster.move_slot(slot, from);
    assert_eq!(cluster.node(from).cli(&["GET", "{q}:b"]), "1");
}

#[test]
fn sentinels_change_the_master() {
    let mut set = Sentinel::start();
    let first = set.master().unwrap();
    let second = set.failover();
    assert_ne!(first, second);
    set.wait_for_replica(first);

    assert_eq!(set.kill_master(), second);
    assert_eq!(set.wait_for_master_other_than(second), first);
    assert_eq!(set.node(first).cli(&["SET", "a", "1"]), "OK");
    set.node_mut(second).restart();
    set.wait_for_replica(second);
    let copied =
        || set.node(second).try_command(&["GET", "a"]) == Ok(redis::Value::BulkString(b"1".into()));
    assert!(eventually_blocking(Duration::from_secs(5), copied));
}

#[test]
fn a_client_that_trusts_the_authority_gets_through_tls() {
    rustls::crypto::ring::default_provider().install_default().ok();
    let server = TlsServer::start();
    let certificates = redis::TlsCertificates {
        client_tls: None,
        root_cert: Some(std::fs::read(server.ca_file()).unwrap()),
    };
    let client = redis::Client::build_with_tls(server.url(), certificates).unwrap();
    let pong: String = redis::cmd("PING").query(&mut client.get_connection().unwrap()).unwrap();
    assert_eq!(pong, "PONG");

    let stranger = redis::Client::open(server.url()).unwrap();
    assert!(stranger.get_connection().is_err());
}

#[test]
fn a_replica_takes_over_by_hand_and_by_election() {
    let mut cluster = Cluster::start_with_replicas(RedisServer::builder());
    let slot = cluster.slot_of("{q}");
    let old = cluster.slot_owner(slot);
    cluster.node(old).cli(&["SET", "{q}", "kept"]);
    let new = cluster.fail_over(slot);
    assert_eq!(cluster.node(new).cli(&["GET", "{q}"]), "kept");
    assert!(new != old && cluster.node(new).is_replicated("{q}mark"));
    cluster.node_mut(new).kill();
    assert_eq!(cluster.wait_for_owner_other_than(slot, new), old);
    cluster.node_mut(new).restart();
    cluster.wait_for_replica(new);
    assert_eq!(cluster.node(old).cli(&["GET", "{q}"]), "kept");
}
