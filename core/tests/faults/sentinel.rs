//! A master that sentinels name, and a change of the master.

use std::time::Duration;

use leaseq::{Client, ErrorKind, Item};
use leaseq_test_support::Sentinel;

use crate::support::{SOON, add, at_once, client, lease_now, wait, waiting};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_continues_with_the_new_master() {
    let set = tokio::task::block_in_place(Sentinel::start);
    let near = client(&set.url(), 10_000).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 3).await;
    let lease = lease_now(&queue).await;
    let idle = near.queue("idle").unwrap();
    let call = waiting(&idle, wait()).await;

    let unknown = set.url().replace("/master0", "/nobody");
    let error = Client::connect(&unknown).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("nobody"), "{error}");

    // The replica has all data, so nothing is lost here.
    tokio::task::block_in_place(|| {
        let master = set.node(set.master().unwrap());
        assert_eq!(master.cli(&["WAIT", "1", "5000"]), "1");
        set.failover()
    });
    assert!(queue.complete(&lease).await.unwrap());
    assert!(queue.add_item(Item::new("data")).await.unwrap());
    assert_eq!(queue.lease_many(10, at_once()).await.unwrap().len(), 3);
    let other = client(&set.url(), 10_000).await.queue("idle").unwrap();
    assert!(other.add_item(Item::new("data")).await.unwrap());
    let waited = tokio::time::timeout(SOON + Duration::from_secs(5), call).await;
    assert!(waited.expect("it goes on by itself").unwrap().unwrap().is_some());
}
