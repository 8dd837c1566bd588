//! Large data.

use leaseq::{ErrorKind, Item, Lease, State};

use crate::support::*;

const MIB: usize = 1 << 20;

async fn data_up_to_the_limit(bench: &Bench) {
    let queue = bench.queue().await;
    let before = bench.backend().dump();
    let error = queue.add_item(Item::new(vec![7; 8 * MIB + 1]).with_id("a")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let message = error.to_string();
    assert!(message.contains("8388609") && message.contains("8388608"), "{message}");
    assert!(message.contains("\"a\""), "{message}");
    assert!(bench.backend().dump() == before);

    assert!(queue.add_item(Item::new(vec![7; 8 * MIB]).with_id("a")).await.unwrap());
    assert_eq!(queue.get("a").await.unwrap().unwrap().data.len(), 8 * MIB);
    let lease = take(&queue).await;
    assert_eq!(lease.data(), &vec![7; 8 * MIB]);
    assert!(queue.complete(&lease).await.unwrap());
}

async fn the_limit_can_be_set(bench: &Bench) {
    let small = options(|o| o.max_data = 10);
    let client = bench.client_with(small).await;
    let queue = client.queue("jobs").unwrap();
    assert!(queue.add_item(Item::new([0; 10])).await.unwrap());
    let error = queue.add_item(Item::new([0; 11])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("11 bytes is over the limit of 10"), "{error}");

    let large = options(|o| o.max_data = 20 * MIB);
    let other = bench.client_with(large).await.queue("jobs").unwrap();
    assert!(other.add_item(Item::new(vec![1; 20 * MIB]).with_id("large")).await.unwrap());
    // The limit is for adding: what is there can be worked on.
    let leases = queue.lease_many(5, at_once()).await.unwrap();
    let more = queue.lease_many(5, at_once()).await.unwrap();
    let sizes: Vec<usize> = leases.iter().chain(&more).map(|lease| lease.data().len()).collect();
    assert_eq!(sizes, [10, 20 * MIB]);
}

/// A call brings 16 MiB, or what one more item makes of it.
async fn many_large_items_come_in_several_calls(bench: &Bench) {
    let queue = bench.queue().await;
    let names: Vec<String> = (0..7).map(|i| format!("{i}")).collect();
    let items = names.iter().map(|id| Item::new(vec![7; 8 * MIB]).with_id(id));
    assert_eq!(queue.add_items(items).await.unwrap(), [true; 7]);
    let mut leases: Vec<Lease> = Vec::new();
    loop {
        let some = queue.lease_many(1000, at_once()).await.unwrap();
        let bytes: usize = some.iter().map(|lease| lease.data().len()).sum();
        assert!(bytes <= 24 * MIB, "{bytes} bytes in one call");
        if some.is_empty() {
            break;
        }
        leases.extend(some);
    }
    assert_eq!(ids(&leases), names);
    assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| *done));
}

async fn small_items_among_large_ones(bench: &Bench) {
    let queue = bench.queue().await;
    let items = (0..60).map(|i| {
        let size = if i % 20 == 0 { 6 * MIB } else { 10 };
        Item::new(vec![7; size]).with_id(format!("{i}")).priority((i % 2) as u8)
    });
    queue.add_items(items).await.unwrap();
    let listed = list_all(&queue, State::Ready, 1000).await;
    assert_eq!(listed.len(), 60);
    let (mut came, mut calls) = (Vec::new(), 0);
    while came.len() < 60 {
        calls += 1;
        let some = queue.lease_many(1000, at_once()).await.unwrap();
        let bytes: usize = some.iter().map(|lease| lease.data().len()).sum();
        assert!(bytes <= 22 * MIB, "{bytes} bytes in one call");
        came.extend(ids(&some));
    }
    assert!(calls < 30, "{calls} calls for 60 items");
    let order = listed.iter().map(|info| String::from_utf8(info.id.to_vec()).unwrap());
    assert_eq!(came, order.collect::<Vec<_>>());
    assert_eq!(queue.purge(State::Leased).await.unwrap(), 60);
    assert_sound(&queue).await;
}

async fn waiting_calls_get_large_items_each_one(bench: &Bench) {
    let queue = bench.queue().await;
    let items = (0..5).map(|i| Item::new(vec![7; 8 * MIB]).with_id(format!("{i}")));
    queue.add_items(items).await.unwrap();
    let options = || at_once().wait(secs(20));
    let (a, b, c, d, e) = tokio::join!(
        queue.lease(options()),
        queue.lease(options()),
        queue.lease(options()),
        queue.lease(options()),
        queue.lease(options()),
    );
    let mut came = ids(&[a, b, c, d, e].map(|lease| lease.unwrap().unwrap()));
    came.sort();
    assert_eq!(came, ["0", "1", "2", "3", "4"]);
}

on_every_engine!(
    data_up_to_the_limit,
    the_limit_can_be_set,
    many_large_items_come_in_several_calls,
    small_items_among_large_ones,
    waiting_calls_get_large_items_each_one,
);
