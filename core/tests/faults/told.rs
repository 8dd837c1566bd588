//! Holders learn of cancellations whatever happens to connections and servers.

use std::time::Duration;

use leaseq::{Item, Lease, State, WorkQueue};
use leaseq_test_support::RedisServer;

use crate::support::{behind_proxy, client, ms, sound, wait};

/// Long enough for a busy machine.
const LATE: Duration = Duration::from_secs(60);

async fn hold(queue: &WorkQueue, id: &str) -> Lease {
    assert!(queue.add_item(Item::new("data").with_id(id)).await.unwrap());
    queue.lease(wait()).await.unwrap().unwrap()
}

async fn told(lease: &Lease) -> bool {
    tokio::time::timeout(LATE, lease.cancelled()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mark_survives_a_restart_and_its_holder_is_told_after_it() {
    let durable = RedisServer::builder().arg("--appendonly", "yes").arg("--appendfsync", "always");
    let mut server = durable.start();
    let holder = client(&server.url(), 10_000).await;
    let queue = holder.queue("q").unwrap();
    let (early, late) = (hold(&queue, "early").await, hold(&queue, "late").await);
    assert!(!early.is_cancelled() && !late.is_cancelled());
    let operator = client(&server.url(), 10_000).await.queue("q").unwrap();
    assert!(operator.cancel("early").await.unwrap());
    tokio::task::block_in_place(|| server.restart());
    assert!(told(&early).await);
    assert!(operator.cancel("late").await.unwrap());
    tokio::task::block_in_place(|| server.restart());
    assert!(told(&late).await);
    assert_eq!(queue.fail(&late, "", Duration::ZERO).await.unwrap(), State::Cancelled);
    assert!(queue.complete(&early).await.unwrap());
    sound(&queue).await;
}

#[tokio::test]
async fn a_holder_is_told_over_a_new_connection() {
    let (server, proxy, holder) = behind_proxy(2_000).await;
    let queue = holder.queue("q").unwrap();
    let (cut, silent) = (hold(&queue, "cut").await, hold(&queue, "silent").await);
    let operator = client(&server.url(), 10_000).await.queue("q").unwrap();
    assert!(!cut.is_cancelled() && !silent.is_cancelled());
    assert!(operator.cancel("cut").await.unwrap());
    proxy.refuse(true);
    proxy.close_all();
    tokio::time::sleep(ms(100)).await;
    proxy.refuse(false);
    assert!(told(&cut).await);
    // One that is open and passes nothing on.
    proxy.black_hole();
    assert!(operator.cancel("silent").await.unwrap());
    assert!(tokio::time::timeout(ms(100), silent.cancelled()).await.is_err());
    proxy.heal();
    assert!(told(&silent).await);
    sound(&operator).await;
}

/// A holder that dies leaves a marked lease, which ends the item when it expires.
#[tokio::test]
async fn the_item_of_a_dead_holder_ends_with_its_lease() {
    let (server, _proxy, holder) = behind_proxy(2_000).await;
    let queue = holder.queue("q").unwrap();
    queue.add_item(Item::new("data").with_id("a").retain(LATE)).await.unwrap();
    let short = leaseq::LeaseOptions::new(ms(200));
    drop(queue.lease(short).await.unwrap().unwrap());
    let other = client(&server.url(), 10_000).await.queue("q").unwrap();
    assert!(other.cancel("a").await.unwrap());
    holder.close().await;
    // Waits for an item: reclaims when the lease expires.
    let none = other.lease(wait().wait(ms(1_000))).await.unwrap();
    assert!(none.is_none());
    assert_eq!(other.get("a").await.unwrap().unwrap().state, State::Cancelled);
    sound(&other).await;
}
