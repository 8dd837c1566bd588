//! Answers that tell of a change which came over another connection: the replica must have that change too.

use std::sync::Arc;

use leaseq::{ErrorKind, Item, State};
use leaseq_test_support::{Proxy, Then};

use crate::pair::{Pair, confirmed, servers};
use crate::support::{SOON, add, client, is_script, lease_now, ms, sound, warm_up};

/// The reply is lost while the replica is stopped. The script answers the retry, on a new connection, from its
/// lane. That answer is not given before the replica has the first execution.
#[tokio::test]
async fn an_answer_from_a_lane_waits_for_the_replica_too() {
    for server in servers() {
        answered_from_a_lane(Pair::start_with(server)).await;
    }
}

async fn answered_from_a_lane(pair: Pair) {
    let proxy = Proxy::start(pair.master.port()).await;
    let near = confirmed(&proxy.url(), 20_000).await;
    warm_up(&near).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = Arc::new(lease_now(&queue).await);
    let mut lost = 0;
    for (operation, id) in [("add", "new"), ("complete", "0")] {
        let before = pair.has("q", id);
        pair.replica.pause();
        proxy.drop_replies(is_script(operation, "q"), 1, Then::Close);
        let calling = tokio::spawn({
            let (queue, lease) = (queue.clone(), lease.clone());
            async move {
                match operation {
                    "add" => queue.add_item(Item::new("data").with_id("new")).await,
                    _ => queue.complete(&lease).await,
                }
            }
        });
        lost += 1;
        assert!(proxy.wait_for_dropped(lost, SOON).await);
        // It is repeated at once, and on Redis 7.2 and later WAIT would not wait for another connection's write.
        tokio::time::sleep(ms(600)).await;
        assert!(!calling.is_finished(), "{operation}: the replica does not have it");
        pair.replica.resume();
        assert!(calling.await.unwrap().unwrap(), "{operation}");
        assert_ne!(pair.has("q", id), before, "{operation}");
    }
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.totals.added, counts.totals.completed), (2, 1));
    sound(&queue).await;
}

/// Somebody else has just done it, and the replica does not have that yet.
#[tokio::test]
async fn an_answer_that_nothing_was_to_be_done_waits_for_the_replica_too() {
    for server in servers() {
        nothing_to_be_done(Pair::start_with(server)).await;
    }
}

async fn nothing_to_be_done(pair: Pair) {
    let plain = client(&pair.master.url(), 10_000).await;
    let [plain, gone] = ["q", "gone"].map(|name| plain.queue(name).unwrap());
    add(&plain, 2).await;
    add(&gone, 1).await;
    plain.pause().await.unwrap();
    // Opened, but nothing was written on its connection for changes.
    let near = pair.client(1_000).await;
    let [queue, gone_too] = ["q", "gone"].map(|name| near.queue(name).unwrap());
    queue.counts().await.unwrap();
    gone_too.counts().await.unwrap();
    pair.replica.pause();
    plain.resume().await.unwrap();
    assert!(gone.drop_queue().await.unwrap());
    plain.add_item(Item::new("data").with_id("new")).await.unwrap();
    for error in [
        queue.resume().await.unwrap_err(),
        gone_too.drop_queue().await.unwrap_err(),
        queue.add_item(Item::new("data").with_id("new")).await.unwrap_err(),
        queue.requeue(["new"]).await.unwrap_err(),
        queue.purge(State::Dead).await.unwrap_err(),
        queue.light_clean().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.outcome_unknown(), "{error}");
    }
    pair.replica.resume();
    queue.resume().await.unwrap();
    assert!(!gone_too.drop_queue().await.unwrap());
    assert!(!queue.add_item(Item::new("data").with_id("new")).await.unwrap());
    assert!(pair.has("q", "new"));
    assert_eq!(pair.replica.cli(&["EXISTS", "leaseq:{gone}:meta"]), "0", "nothing is left of it");
    sound(&queue).await;
}
