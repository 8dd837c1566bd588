//! `add_item` and what happens to an id over its life.

use std::time::Duration;

use leaseq::{ErrorKind, Item, State};

use crate::support::*;

async fn add_is_true_for_a_new_id_and_the_item_is_delivered(bench: &Bench) {
    let queue = bench.queue().await;
    assert!(queue.add_item(Item::new("work").with_id("a")).await.unwrap());
    let lease = take(&queue).await;
    assert_eq!((lease.id(), &lease.data()[..], lease.queue()), (&b"a"[..], &b"work"[..], "jobs"));
    assert_eq!((lease.attempt(), lease.priority(), lease.max_attempts()), (1, 0, None));
}

async fn add_is_false_for_an_id_in_any_state(bench: &Bench) {
    let queue = bench.queue().await;
    let states = one_of_each_state(&queue).await;
    for (expected, id) in states {
        assert_eq!(state(&queue, id).await, Some(expected));
        let before = seen(&queue).await;
        let other = Item::new("other data").with_id(id).priority(9).max_attempts(7);
        assert!(!queue.add_item(other.clone()).await.unwrap(), "{id}");
        assert!(!queue.add_item(other.delay(secs(5))).await.unwrap(), "{id}");
        assert_eq!(seen(&queue).await, before, "{id}");
    }
    assert_sound(&queue).await;
}

async fn a_completed_or_removed_id_can_be_added_again(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(Item::new("first").with_id("a")).await.unwrap();
    let first = take(&queue).await;
    assert!(queue.complete(&first).await.unwrap());
    assert!(queue.add_item(Item::new("second").with_id("a")).await.unwrap());
    assert!(queue.remove("a").await.unwrap());
    assert!(queue.add_item(Item::new("third").with_id("a")).await.unwrap());
    let third = take(&queue).await;
    assert_eq!(&third.data()[..], b"third");
    assert!(third.generation() > first.generation());
}

async fn options_are_kept_with_the_item(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a").priority(7).max_attempts(65_535)).await.unwrap();
    let info = queue.get("a").await.unwrap().unwrap();
    assert_eq!((info.state, info.priority, info.max_attempts), (State::Ready, 7, Some(65_535)));
    assert_eq!(since_1970(info.added_at), bench.now());
    let lease = take(&queue).await;
    assert_eq!((lease.priority(), lease.max_attempts()), (7, Some(65_535)));
}

async fn a_delayed_item_is_ready_when_it_is_due(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a").delay(ms(1000))).await.unwrap();
    assert_eq!(state(&queue, "a").await, Some(State::Delayed));
    let info = queue.get("a").await.unwrap().unwrap();
    assert_eq!(since_1970(info.at.unwrap()), bench.now() + 1000);
    bench.advance(ms(999));
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    bench.advance(ms(1));
    assert_eq!(take(&queue).await.id(), b"a");
}

async fn an_item_without_an_id_gets_a_random_one(bench: &Bench) {
    let queue = bench.queue().await;
    let (a, b) = (Item::new("x"), Item::new("x"));
    assert_ne!(a.id(), b.id());
    assert_eq!(queue.add_items([a.clone(), b.clone()]).await.unwrap(), [true, true]);
    assert_eq!(ids(&[take(&queue).await, take(&queue).await]), {
        [a, b].map(|item| String::from_utf8(item.id().to_vec()).unwrap())
    });
}

async fn json_data_is_returned_unchanged(bench: &Bench) {
    let queue = bench.queue().await;
    let value = serde_json::json!({ "to": "a@example.org", "tries": [1, 2] });
    queue.add_item(Item::json(&value).unwrap().with_id("a")).await.unwrap();
    let lease = take(&queue).await;
    assert_eq!(lease.json::<serde_json::Value>().unwrap(), value);
    let info = queue.get("a").await.unwrap().unwrap();
    assert_eq!(info.json::<serde_json::Value>().unwrap(), value);
    assert_eq!(kind(lease.json::<u32>()), ErrorKind::Invalid);

    let no_json = std::collections::HashMap::from([((1, 2), 3)]);
    assert_eq!(kind(Item::json(&no_json)), ErrorKind::Invalid);
}

async fn a_delay_below_a_millisecond_is_a_delay(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a").delay(Duration::from_nanos(1))).await.unwrap();
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    bench.advance(ms(1));
    take(&queue).await;
}

on_every_engine!(
    add_is_true_for_a_new_id_and_the_item_is_delivered,
    add_is_false_for_an_id_in_any_state,
    a_completed_or_removed_id_can_be_added_again,
    options_are_kept_with_the_item,
    a_delayed_item_is_ready_when_it_is_due,
    an_item_without_an_id_gets_a_random_one,
    json_data_is_returned_unchanged,
    a_delay_below_a_millisecond_is_a_delay,
);
