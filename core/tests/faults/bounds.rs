//! A client's memory, connections and requests have bounds.

use std::time::{Duration, Instant};

use leaseq::{ErrorKind, LeaseOptions};
use leaseq_test_support::{Cluster, Then, eventually};
use tokio::task::block_in_place;

use crate::support::{SOON, at_once, behind_proxy, client, connections, ms, wait, waiting};

/// A blocking command ends after 5 s, and an unused connection is kept for 10 s more.
const GIVEN_UP: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_for_queues_without_waiting_calls_are_closed() {
    const QUEUES: usize = 60;
    let cluster = block_in_place(Cluster::start);
    let count = || -> usize {
        let ports = cluster.ports();
        block_in_place(|| ports.into_iter().map(|port| connections(cluster.node(port))).sum())
    };
    // The nodes' own connections, and those of the first requests.
    let near = client(&cluster.url(), 10_000).await;
    let before = count();
    let mut calls = Vec::new();
    for i in 0..QUEUES {
        calls.push(waiting(&near.queue(&format!("q{i}")).unwrap(), wait()).await);
    }
    assert!(eventually(SOON, async || count() >= before + QUEUES).await, "one for each queue");
    for (i, call) in calls.into_iter().enumerate() {
        let queue = near.queue(&format!("q{i}")).unwrap();
        assert!(queue.add_item(leaseq::Item::new("data")).await.unwrap());
        assert!(call.await.unwrap().unwrap().is_some());
    }
    // One connection for requests to each node remains.
    let closed = eventually(GIVEN_UP, async || count() <= before + 3).await;
    assert!(closed, "{} connections, {before} before", count());
    // Waiting works as before.
    let queue = near.queue("again").unwrap();
    let call = waiting(&queue, wait()).await;
    assert!(queue.add_item(leaseq::Item::new("data")).await.unwrap());
    assert!(tokio::time::timeout(SOON, call).await.expect("it wakes").unwrap().unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_redirect_in_a_circle_are_not_flooded() {
    let cluster = block_in_place(Cluster::start);
    let near = client(&cluster.url(), 1_000).await;
    let queue = near.queue("circle").unwrap();
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    let asked = block_in_place(|| {
        let slot = cluster.slot_of("leaseq:{circle}:items");
        let owner = cluster.slot_owner(slot);
        let (slot, other) = (slot.to_string(), cluster.other_than(owner));
        let id = cluster.node(other).cli(&["CLUSTER", "MYID"]);
        // Each node redirects to the other. Keys would prevent that.
        cluster.node(owner).cli(&["FLUSHALL"]);
        for port in [owner, other] {
            cluster.node(port).cli(&["CONFIG", "RESETSTAT"]);
        }
        cluster.node(owner).cli(&["CLUSTER", "SETSLOT", &slot, "NODE", &id]);
        [owner, other]
    });
    let error = queue.lease(at_once()).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, false), "{error}");
    assert!(error.to_string().to_lowercase().contains("moved"), "{error}");
    let moved: u64 = block_in_place(|| {
        let count = |port| {
            let stats = cluster.node(port).cli(&["INFO", "errorstats"]);
            let line = stats.lines().find_map(|line| line.strip_prefix("errorstat_MOVED:count="));
            line.map_or(0, |count| count.trim().parse::<u64>().unwrap())
        };
        asked.into_iter().map(count).sum()
    });
    println!("{moved} requests in a second");
    assert!((3..100).contains(&moved), "{moved} requests in a second");
}

/// Each failure doubles the wait for an answer; after some hundred doublings the number would overflow.
#[tokio::test]
async fn a_connection_that_always_breaks_is_retried_until_the_time_out() {
    let (_server, proxy, client) = behind_proxy(22_000).await;
    let queue = client.queue("q").unwrap();
    assert!(queue.lease(LeaseOptions::new(ms(100)).wait(Duration::ZERO)).await.unwrap().is_none());
    proxy.drop_replies(|args| args[0].starts_with(b"EVAL"), 10_000, Then::Close);
    let begin = Instant::now();
    let error = queue.counts().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(begin.elapsed() > Duration::from_secs(20), "{:?}", begin.elapsed());
}
