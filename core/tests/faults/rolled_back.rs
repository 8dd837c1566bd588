//! A server that restarts without its latest data: the remaining data stays sound, whatever happens with
//! handles of lost leases.

use leaseq::{Item, Lease};
use leaseq_test_support::RedisServer;

use crate::support::{at_once, client, lease_now, sound};

/// Eight items are leased after the snapshot that the server restores. Then some of them are leased again,
/// so that these have the same tokens as the handles. All handles complete, in one batch.
async fn complete_all(priorities: &[u8], again: usize) {
    let mut server = RedisServer::start();
    let queue = client(&server.url(), 10_000).await.queue("q").unwrap();
    let items = (0..8).map(|i| {
        Item::new("data").with_id(i.to_string()).priority(priorities[i % priorities.len()])
    });
    queue.add_items(items).await.unwrap();
    server.cli(&["SAVE"]);
    let old: Vec<Lease> = queue.lease_many(8, at_once()).await.unwrap();
    tokio::task::block_in_place(|| server.restart());
    assert_eq!(queue.counts().await.unwrap().ready, 8, "the leases are forgotten");
    for _ in 0..again {
        lease_now(&queue).await;
    }
    let completed = queue.complete_many(&old).await.unwrap();
    assert_eq!(completed, [true; 8]);
    sound(&queue).await;
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.leased, counts.totals.completed), (0, 0, 8));
    sound(&queue).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completing_restored_ready_items_corrects_the_count() {
    for again in [0, 3, 8] {
        complete_all(&[0], again).await;
        complete_all(&[1], again).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completing_restored_ready_items_corrects_each_priority() {
    for again in [0, 3, 8] {
        complete_all(&[0, 1, 5], again).await;
    }
}
