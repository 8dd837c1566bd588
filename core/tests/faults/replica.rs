//! A master that becomes a replica, and a replica that is used as a master.

use std::time::Duration;

use leaseq::{Client, ErrorKind, Item};
use leaseq_test_support::{RedisServer, eventually};

use crate::support::{SOON, add, at_once, client, lease_now, ms, sound, wait, waiting};

#[tokio::test]
async fn a_replica_is_refused() {
    let master = RedisServer::start();
    let of = format!("127.0.0.1 {}", master.port());
    let replica = RedisServer::builder().arg("--replicaof", of).start();
    let error = Client::connect(&replica.url()).await.unwrap_err();
    // The replica may be promoted soon.
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, false));
    assert!(error.to_string().contains("not a master"), "{error}");
}

#[tokio::test]
async fn a_master_becomes_a_replica_and_a_master_again() {
    let server = RedisServer::start();
    let near = client(&server.url(), 500).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 2).await;
    let lease = lease_now(&queue).await;
    let idle = near.queue("idle").unwrap();
    let call = waiting(&idle, wait().wait(Duration::from_secs(20))).await;
    // A replica of a master that does not exist keeps its data. Connections stay open.
    server.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    for error in [
        queue.add_item(Item::new("data")).await.unwrap_err(),
        queue.complete(&lease).await.unwrap_err(),
        queue.lease(at_once()).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(!error.outcome_unknown(), "{error}");
    }
    let completing = tokio::spawn(async move {
        let done = queue.complete(&lease).await;
        (queue, done)
    });
    tokio::time::sleep(ms(50)).await;
    server.cli(&["REPLICAOF", "NO", "ONE"]);
    let (queue, done) = completing.await.unwrap();
    assert!(done.unwrap());
    sound(&queue).await;
    // The waiting call got an error, or continues to wait.
    let told = eventually(ms(100), async || call.is_finished()).await;
    if told {
        assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    } else {
        assert!(near.queue("idle").unwrap().add_item(Item::new("data")).await.unwrap());
        let lease = tokio::time::timeout(SOON, call).await.expect("it goes on");
        assert!(lease.unwrap().unwrap().is_some());
    }
}
