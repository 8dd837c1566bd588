//! The order in which held items of several keys, ready items and those that came back are leased.

use std::time::Duration;

use leaseq::LeaseOptions;

use super::keys::{add, complete, got, keyed, leases, limit};
use crate::support::*;

async fn keys_are_served_in_the_order_of_the_line(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, ["a0", "b0"].map(|id| keyed(id, &id[..1]))).await;
    let first = leases(&queue, 1000).await;
    add(&queue, ["a1", "b1", "a2", "c0", "b2", "c1"].map(|id| keyed(id, &id[..1]))).await;
    assert_eq!(got(&queue).await, ["c0"]);
    limit(&queue, 3).await;
    // Whichever key was opened first.
    for lease in first.iter().rev() {
        complete(&queue, lease).await;
        bench.advance(ms(1));
    }
    assert_eq!(ids(&leases(&queue, 2).await), ["a1", "b1"]);
    assert_eq!(got(&queue).await, ["a2", "b2", "c1"]);
    assert_sound(&queue).await;
}

/// A key with many held items delays nobody who stood before them.
async fn a_key_with_many_items_holds_up_no_other(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, ["many", "other"].map(|key| keyed(key, key))).await;
    let first = leases(&queue, 1000).await;
    add(&queue, (0..10).map(|i| keyed(format!("m{i}"), "many"))).await;
    add(&queue, [keyed("o", "other")]).await;
    add(&queue, (10..500).map(|i| keyed(format!("m{i}"), "many"))).await;
    assert!(got(&queue).await.is_empty());
    queue.set_key_limits([("many", Some(1_000))]).await.unwrap();
    assert_eq!(ids(&leases(&queue, 1).await), ["m0"]);
    bench.advance(ms(1));
    complete(&queue, &first[1]).await;
    let mut seen = Vec::new();
    for _ in 0..11 {
        seen.extend(ids(&leases(&queue, 1).await));
    }
    let before = (1..10).map(|i| format!("m{i}"));
    assert_eq!(seen, before.chain(["o".to_owned(), "m10".to_owned()]).collect::<Vec<_>>());
    assert_eq!(got(&queue).await.len(), 489);
    assert_sound(&queue).await;
}

/// Before held ones, whether it has a key or not.
async fn what_comes_back_is_first(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, [keyed("a0", "a"), item("x"), keyed("b0", "b"), item("y")]).await;
    let options = LeaseOptions::new(secs(600)).wait(Duration::ZERO);
    let first = queue.lease_many(10, options).await.unwrap();
    add(&queue, [keyed("a1", "a"), keyed("b1", "b"), item("z").priority(1)]).await;
    assert_eq!(got(&queue).await, ["z"]);
    for n in [1, 2, 3] {
        queue.release(&first[n], if n == 3 { secs(1) } else { Duration::ZERO }).await.unwrap();
    }
    complete(&queue, &first[0]).await;
    bench.advance(secs(1));
    // The last one that came back is the first.
    assert_eq!(got(&queue).await, ["y", "b0", "x", "a1"]);
    assert_sound(&queue).await;
}

/// Two that came back while their key is full keep their order, and stand before what was held already.
async fn what_comes_back_is_held_in_front(bench: &Bench) {
    let queue = bench.queue().await;
    limit(&queue, 3).await;
    add(&queue, (0..6).map(|i| keyed(i.to_string(), "k"))).await;
    let first = leases(&queue, 1000).await;
    assert_eq!(ids(&first), ["0", "1", "2"]);
    limit(&queue, 1).await;
    queue.release(&first[1], Duration::ZERO).await.unwrap();
    queue.release(&first[0], Duration::ZERO).await.unwrap();
    assert!(got(&queue).await.is_empty());
    assert_eq!(queue.counts().await.unwrap().held, 5);
    complete(&queue, &first[2]).await;
    limit(&queue, 4).await;
    assert_eq!(got(&queue).await, ["0", "1", "3", "4"]);
    assert_sound(&queue).await;
}

on_every_engine!(
    keys_are_served_in_the_order_of_the_line,
    a_key_with_many_items_holds_up_no_other,
    what_comes_back_is_first,
    what_comes_back_is_held_in_front,
);
