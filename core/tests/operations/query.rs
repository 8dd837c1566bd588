//! `counts`, `get`, `list`, `queues`, and the keys that a drained queue leaves.

use std::time::Duration;

use leaseq::{State, Totals};

use crate::support::*;

async fn counts_by_state_and_priority(bench: &Bench) {
    let queue = bench.queue().await;
    let empty = queue.counts().await.unwrap();
    assert_eq!(empty, leaseq::Counts::default());
    one_of_each_state(&queue).await;
    queue.add_item(item("high").priority(9)).await.unwrap();
    queue.add_item(item("higher").priority(9)).await.unwrap();
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.delayed, counts.leased, counts.dead), (3, 1, 1, 1));
    assert_eq!(counts.ready_by_priority, [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    assert_eq!(queue.queue_len().await.unwrap(), 3);
    assert_eq!(queue.processing().await.unwrap(), 1);
}

async fn totals_count_all_events(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b", "c", "a"].map(|id| item(id).max_attempts(2))).await.unwrap();
    let a = take(&queue).await;
    queue.complete(&a).await.unwrap();
    queue.complete(&a).await.unwrap();
    queue.fail(&take(&queue).await, "", Duration::ZERO).await.unwrap();
    queue.release(&take(&queue).await, Duration::ZERO).await.unwrap();
    queue.lease_many(5, at_once()).await.unwrap();
    bench.advance(secs(10));
    queue.light_clean().await.unwrap();
    queue.remove("c").await.unwrap();
    let totals = queue.counts().await.unwrap().totals;
    let Totals { added, leased, completed, expired, failed, died, removed, .. } = totals;
    assert_eq!([added, leased, completed, expired, failed, died, removed], [3, 5, 1, 2, 1, 1, 1]);
}

async fn the_age_of_the_oldest_ready_item(bench: &Bench) {
    let queue = bench.queue().await;
    let oldest = async || queue.counts().await.unwrap().oldest_ready;
    assert_eq!(oldest().await, None);
    queue.add_item(item("a").priority(3)).await.unwrap();
    bench.advance(secs(2));
    queue.add_item(item("b")).await.unwrap();
    bench.advance(secs(3));
    assert_eq!(oldest().await, Some(secs(5)));
    let a = take(&queue).await;
    assert_eq!(oldest().await, Some(secs(3)));
    queue.release(&a, Duration::ZERO).await.unwrap();
    assert_eq!(oldest().await, Some(secs(5)), "what was released keeps its age");
    queue.fail(&take(&queue).await, "", Duration::ZERO).await.unwrap();
    assert_eq!(oldest().await, Some(secs(3)), "what failed counts from then");
    queue.remove("b").await.unwrap();
    bench.advance(secs(1));
    assert_eq!(oldest().await, Some(secs(1)));

    let many = (0..300).map(|i| format!("{i}"));
    queue.add_items(many.clone().map(item)).await.unwrap();
    bench.advance(secs(1));
    queue.add_item(item("last")).await.unwrap();
    queue.remove("a").await.unwrap();
    queue.remove_many(many).await.unwrap();
    bench.advance(secs(1));
    assert_eq!(oldest().await, Some(secs(1)), "what was removed has no age");
}

async fn get_shows_an_item_without_leasing_it(bench: &Bench) {
    let queue = bench.queue().await;
    assert_eq!(queue.get("nothing").await.unwrap(), None);
    one_of_each_state(&queue).await;
    let added = bench.now();
    bench.advance(secs(1));
    let before = bench.backend().dump();
    for (state, at) in [
        (State::Ready, None),
        (State::Delayed, Some(added + 60_000)),
        (State::Leased, Some(added + 10_000)),
        (State::Dead, Some(added)),
    ] {
        let info = queue.get(state.as_str()).await.unwrap().unwrap();
        assert_eq!((info.state, info.at.map(since_1970)), (state, at));
        assert_eq!((&info.id[..], &info.data[..]), {
            let id = state.as_str().as_bytes();
            (id, id)
        });
        assert_eq!(since_1970(info.added_at), added);
        let dead = state == State::Dead;
        assert_eq!(info.last_error, if dead { "broken" } else { "" });
        assert_eq!((info.failures, info.max_attempts), (dead.into(), dead.then_some(1)));
        assert_eq!(queue.list(state, None, 5).await.unwrap().items, [info]);
    }
    assert_eq!(bench.backend().dump(), before, "looking changes nothing");
}

async fn list_turns_pages_in_the_order_of_leasing_or_of_time(bench: &Bench) {
    let queue = bench.queue().await;
    let name = |i: u64| format!("{i:02}");
    for i in 0..25 {
        queue.add_item(item(name(i)).priority((i % 3) as u8)).await.unwrap();
        queue.add_item(item(format!("d{}", name(i))).delay(secs(100 - i))).await.unwrap();
    }
    let listed = async |state, limit| -> Vec<String> {
        let items = list_all(&queue, state, limit).await;
        items.iter().map(|info| String::from_utf8(info.id.to_vec()).unwrap()).collect()
    };
    let by_time: Vec<String> = (0..25).rev().map(|i| format!("d{}", name(i))).collect();
    for limit in [1, 2, 7, 8, 9, 25, 26, 1000] {
        assert_eq!(listed(State::Delayed, limit).await, by_time, "pages of {limit}");
    }
    let ready = listed(State::Ready, 4).await;
    for limit in [1, 7, 8, 9, 25, 1000] {
        assert_eq!(listed(State::Ready, limit).await, ready, "pages of {limit}");
    }
    assert_eq!(drain(&queue).await, ready);
    for limit in [1, 24, 25, 1000] {
        assert_eq!(listed(State::Leased, limit).await.len(), 25);
        assert!(listed(State::Ready, limit).await.is_empty());
        assert!(listed(State::Dead, limit).await.is_empty());
    }
}

async fn a_listing_continues_after_items_have_left(bench: &Bench) {
    let queue = bench.queue().await;
    for i in 0..10 {
        queue.add_item(item(format!("{i}")).delay(secs(i + 1))).await.unwrap();
    }
    let page = queue.list(State::Delayed, None, 4).await.unwrap();
    queue.remove_many(["3", "4"]).await.unwrap();
    let rest = queue.list(State::Delayed, page.cursor.as_ref(), 100).await.unwrap();
    let ids: Vec<&[u8]> = rest.items.iter().map(|info| &info.id[..]).collect();
    assert_eq!(ids, [b"5", b"6", b"7", b"8", b"9"]);
}

async fn a_drained_queue_leaves_a_few_small_keys(bench: &Bench) {
    let queue = bench.queue().await;
    let size = async |rounds: std::ops::Range<u32>| {
        for round in rounds {
            one_of_each_state(&queue).await;
            let items = (0..10).map(|i| item(format!("{round}/{i}")).priority(i));
            queue.add_items(items).await.unwrap();
            queue.remove(format!("{round}/5")).await.unwrap();
            queue.requeue(["dead"]).await.unwrap();
            bench.advance(secs(60));
            queue.purge(State::Completed).await.unwrap();
            let leases = queue.lease_many(1000, at_once()).await.unwrap();
            assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| *done));
        }
        let dump = bench.backend().dump();
        (dump.len(), dump.values().flatten().map(Vec::len).sum::<usize>())
    };
    let (keys, bytes) = size(0..3).await;
    let (later_keys, later_bytes) = size(3..33).await;
    assert_eq!(later_keys, keys);
    assert!(keys <= 4 && later_bytes < bytes + 100, "{keys} keys, {bytes} then {later_bytes}");
}

async fn queues_are_known_by_name(bench: &Bench) {
    let client = bench.client().await;
    assert!(client.queues().await.unwrap().is_empty());
    for name in ["b", "a", "a.b-c_D"] {
        client.queue(name).unwrap().add_item(item("x")).await.unwrap();
    }
    client.queue("looked.at").unwrap().counts().await.unwrap();
    assert_eq!(client.queues().await.unwrap(), ["a", "a.b-c_D", "b"]);
    let a = client.queue("a").unwrap();
    a.complete(&take(&a).await).await.unwrap();
    assert!(bench.client().await.queues().await.unwrap().contains(&"a".to_owned()));
}

async fn queues_do_not_mix(bench: &Bench) {
    let client = bench.client().await;
    let (one, two) = (client.queue("one").unwrap(), client.queue("two").unwrap());
    one.add_item(item("a")).await.unwrap();
    assert!(two.add_item(item("a")).await.unwrap());
    assert!(one.remove("a").await.unwrap());
    assert_eq!(drain(&two).await, ["a"]);
}

on_every_engine!(
    counts_by_state_and_priority,
    totals_count_all_events,
    the_age_of_the_oldest_ready_item,
    get_shows_an_item_without_leasing_it,
    list_turns_pages_in_the_order_of_leasing_or_of_time,
    a_listing_continues_after_items_have_left,
    a_drained_queue_leaves_a_few_small_keys,
    queues_are_known_by_name,
    queues_do_not_mix,
);
