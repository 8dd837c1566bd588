//! `get_many`.

use leaseq::{ErrorKind, GetOptions, Item, State};

use crate::support::*;

async fn get_many_answers_in_the_order_of_the_ids(bench: &Bench) {
    let queue = bench.queue().await;
    assert_eq!(queue.get_many(["a", "b"]).await.unwrap(), [None, None]);
    one_of_each_state(&queue).await;
    let before = bench.backend().dump();
    let ids = ["dead", "nothing", "ready", "leased", "dead", "delayed"];
    let found = queue.get_many(ids).await.unwrap();
    assert_eq!(found.len(), ids.len());
    for (id, info) in ids.iter().zip(&found) {
        assert_eq!(info, &queue.get(id).await.unwrap(), "{id}");
        assert_eq!(
            info.as_ref().map(|info| info.state.as_str()),
            (*id != "nothing").then_some(*id)
        );
    }
    let heads = queue.get_many_with(ids, GetOptions::new().without_data()).await.unwrap();
    let mut expected = found;
    expected.iter_mut().flatten().for_each(|info| info.data.clear());
    assert_eq!(heads, expected);
    assert_eq!(queue.get_many([""; 0]).await.unwrap(), []);
    assert_eq!(bench.backend().dump(), before, "looking changes nothing");
}

async fn get_many_of_many_ids(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items((0..2_001).map(|n| item(n.to_string()))).await.unwrap();
    let ids = (0..2_500).map(|n| n.to_string());
    let found = queue.get_many(ids.clone()).await.unwrap();
    for (id, info) in ids.zip(found) {
        let known = id.parse::<u32>().unwrap() < 2_001;
        assert_eq!(info.map(|info| info.id), known.then(|| id.into()));
    }
    for bad in ["", &"x".repeat(513)] {
        assert_eq!(kind(queue.get_many(["1", bad]).await), ErrorKind::Invalid);
    }
}

async fn get_many_of_large_items(bench: &Bench) {
    let queue = bench.queue().await;
    // More than one reply may have, beside small ones.
    let sizes = [6 << 20, 100, 0, 6 << 20, 6 << 20, 16_000, 7 << 20];
    for (n, size) in sizes.iter().enumerate() {
        queue.add_item(Item::new(vec![1; *size]).with_id([n as u8 + 1])).await.unwrap();
    }
    let ids = (1..=8u8).map(|n| [n]).cycle().take(24);
    let found = queue.get_many(ids.clone()).await.unwrap();
    let lengths: Vec<_> = found.iter().flatten().map(|info| info.data.len()).collect();
    assert_eq!(lengths, sizes.repeat(3));
    assert!(found[7].is_none() && found.len() == 24);
    let heads = queue.get_many_with(ids, GetOptions::new().without_data()).await.unwrap();
    assert!(heads.iter().flatten().all(|info| info.data.is_empty()));
    assert_eq!(heads.iter().flatten().count(), 21);
    assert!(heads.iter().flatten().all(|info| info.state == State::Ready));
}

on_every_engine!(
    get_many_answers_in_the_order_of_the_ids,
    get_many_of_many_ids,
    get_many_of_large_items,
);
