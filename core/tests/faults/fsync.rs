//! Calls that return when their changes are on disks (`fsync`).

use leaseq::{Client, Durability, ErrorKind, Item};
use leaseq_test_support::RedisServer;

use crate::pair::{Pair, with_waitaof};
use crate::support::{add, calls, lease_now, sound};

#[tokio::test]
async fn a_server_that_cannot_wait_for_a_disk_is_invalid_at_once() {
    let default = RedisServer::start();
    let knows = default.try_command(&["WAITAOF", "0", "0", "1"]).is_ok();
    let expected = if knows { "appendonly to yes" } else { "does not know waitaof" };
    for option in ["fsync=local", "fsync=1", "replicas=1&fsync=local"] {
        let url = format!("{}?{option}", default.url());
        let error = Client::connect(&url).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_server_without_an_append_only_file_is_invalid() {
    for builder in with_waitaof() {
        without_a_file(builder.start()).await;
    }
}

async fn without_a_file(server: RedisServer) {
    let error = Client::connect(&format!("{}?fsync=local", server.url())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("set appendonly to yes"), "{error}");
    // Once it is there, all is well; when it goes, the error says so.
    server.cli(&["CONFIG", "SET", "appendonly", "yes"]);
    let url = format!("{}?fsync=local&timeout_ms=30000", server.url());
    let queue = Client::connect(&url).await.unwrap().queue("q").unwrap();
    assert!(queue.add_item(Item::new("data")).await.unwrap());
    server.cli(&["CONFIG", "SET", "appendonly", "no"]);
    let error = queue.add_item(Item::new("data")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("set appendonly to yes") && error.outcome_unknown());
}

#[tokio::test]
async fn what_is_on_the_disk_survives_a_kill_of_the_server() {
    let each = |fsync| with_waitaof().into_iter().map(move |builder| (builder, fsync));
    for (builder, fsync) in ["always", "everysec"].into_iter().flat_map(each) {
        let builder = builder.arg("--appendonly", "yes").arg("--appendfsync", fsync);
        let mut server = builder.start();
        let url = format!("{}?fsync=local&timeout_ms=30000", server.url());
        let client = Client::connect(&url).await.unwrap();
        let queue = client.queue("q").unwrap();
        for i in 0..3 {
            assert!(
                queue.add_item(Item::new("data").with_id(format!("{fsync}{i}"))).await.unwrap()
            );
        }
        assert!(calls(&server)["waitaof"] > 3);
        let diagnosis = client.doctor().await.unwrap();
        assert_eq!(diagnosis.settings["fsync"], "local");
        assert_eq!(diagnosis.durability, Durability::Full, "{diagnosis:?}");
        // A kill of the process alone loses nothing of what the system has; it only must not lose more.
        server.restart();
        assert_eq!(queue.counts().await.unwrap().ready, 3);
        sound(&queue).await;
    }
}

#[tokio::test]
async fn a_replica_that_is_stopped_or_has_no_file_means_unavailable() {
    for builder in with_waitaof() {
        let builder = builder.arg("--appendonly", "yes").arg("--appendfsync", "always");
        on_disks(Pair::start_with(builder)).await;
    }
}

async fn on_disks(pair: Pair) {
    let url = |ms: u64| format!("{}?fsync=1&timeout_ms={ms}", pair.master.url());
    let queue = Client::connect(&url(30_000)).await.unwrap().queue("q").unwrap();
    add(&queue, 2).await;
    assert!(queue.complete(&lease_now(&queue).await).await.unwrap());
    let hurried = Client::connect(&url(5_000)).await.unwrap().queue("q").unwrap();
    hurried.counts().await.unwrap();
    pair.replica.pause();
    let error = hurried.add_item(Item::new("data").with_id("new")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.outcome_unknown(), "{error}");
    assert!(error.to_string().contains("0 of 1 replicas have it on their disks"), "{error}");
    pair.replica.resume();
    assert!(!queue.add_item(Item::new("data").with_id("new")).await.unwrap());
    pair.replica.cli(&["CONFIG", "SET", "appendonly", "no"]);
    let error = hurried.add_item(Item::new("data")).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, true), "{error}");
}
