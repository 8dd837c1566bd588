//! Operations for operators: `remove`, `requeue`, `pause`, `resume`, `purge`.

use std::time::Duration;

use leaseq::{FollowUp, On, State};

use crate::support::*;

async fn remove_in_every_state(bench: &Bench) {
    let queue = bench.queue().await;
    assert!(!queue.remove("nothing").await.unwrap());
    for (i, id) in one_of_each_state(&queue).await.into_values().enumerate() {
        assert!(queue.remove(id).await.unwrap(), "{id}");
        assert!(!queue.remove(id).await.unwrap(), "{id}");
        assert_eq!(state(&queue, id).await, None);
        assert_eq!(queue.counts().await.unwrap().totals.removed, i as u64 + 1);
        assert_sound(&queue).await;
    }
    bench.advance(secs(60));
    assert!(drain(&queue).await.is_empty());
}

async fn remove_many_answers_in_order(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b", "c"].map(item)).await.unwrap();
    let removed = queue.remove_many(["b", "x", "a", "b"]).await.unwrap();
    assert_eq!(removed, [true, false, true, false]);
    assert_eq!(queue.counts().await.unwrap().ready, 1);
    assert_eq!(drain(&queue).await, ["c"]);
    assert_sound(&queue).await;
}

async fn counts_are_exact_after_removing_ready_items(bench: &Bench) {
    let queue = bench.queue().await;
    for i in 0..30 {
        queue.add_item(item(format!("{i}")).priority(i % 3)).await.unwrap();
    }
    queue.remove_many((0..20).map(|i| format!("{i}"))).await.unwrap();
    let by_priority = queue.counts().await.unwrap().ready_by_priority;
    assert_eq!(by_priority[..4], [3, 3, 4, 0]);
    assert_eq!(list_all(&queue, State::Ready, 3).await.len(), 10);
    assert_eq!(drain(&queue).await, ["20", "23", "26", "29", "22", "25", "28", "21", "24", "27"]);
    assert_eq!(queue.counts().await.unwrap().ready, 0);
    assert_sound(&queue).await;
}

async fn requeue_moves_only_dead_items(bench: &Bench) {
    let queue = bench.queue().await;
    one_of_each_state(&queue).await;
    let answers = queue.requeue(["ready", "delayed", "leased", "dead", "none"]).await.unwrap();
    assert_eq!(answers, [false, false, false, true, false]);
    assert_eq!(queue.requeue(["dead"]).await.unwrap(), [false]);
    let info = queue.get("dead").await.unwrap().unwrap();
    assert_eq!((info.state, info.failures, info.expiries), (State::Ready, 0, 0));
    assert_eq!(drain(&queue).await, ["ready", "dead"]);
    assert_sound(&queue).await;
}

async fn a_requeued_item_has_all_its_attempts_again(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a").max_attempts(2)).await.unwrap();
    for _ in 0..2 {
        for expected in [State::Ready, State::Dead] {
            let failed = queue.fail(&take(&queue).await, "x", Duration::ZERO).await.unwrap();
            assert_eq!(failed, expected);
        }
        assert_eq!(queue.requeue(["a", "a"]).await.unwrap(), [true, false]);
    }
    let lease = take(&queue).await;
    assert_eq!((lease.attempt(), lease.last_error()), (1, "x"));
}

async fn a_paused_queue_only_stops_leasing(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    let lease = take(&queue).await;
    let expiring = take(&queue).await;
    queue.pause().await.unwrap();
    assert!(queue.counts().await.unwrap().paused);
    assert!(queue.add_item(item("c")).await.unwrap());
    assert!(queue.complete(&lease).await.unwrap());
    for worker in [&queue, &other] {
        assert!(worker.lease(at_once()).await.unwrap().is_none());
    }
    bench.advance(secs(10));
    assert_eq!(queue.light_clean().await.unwrap().expired, 1);
    assert!(is_lost(queue.extend(&expiring, secs(1)).await));
    assert!(other.lease(at_once()).await.unwrap().is_none());
    other.resume().await.unwrap();
    assert!(!queue.counts().await.unwrap().paused);
    assert_eq!(drain(&queue).await, ["b", "c"]);
}

async fn pause_and_resume_may_be_repeated(bench: &Bench) {
    let queue = bench.queue().await;
    queue.resume().await.unwrap();
    queue.pause().await.unwrap();
    queue.pause().await.unwrap();
    queue.add_item(item("a")).await.unwrap();
    assert!(drain(&queue).await.is_empty());
    queue.resume().await.unwrap();
    queue.resume().await.unwrap();
    assert_eq!(drain(&queue).await, ["a"]);
}

async fn purge_removes_one_state(bench: &Bench) {
    let queue = bench.queue().await;
    for (purged, _) in one_of_each_state(&queue).await {
        for state in State::ALL {
            queue.purge(state).await.unwrap();
        }
        assert_eq!(queue.purge(purged).await.unwrap(), 0);
        one_of_each_state(&queue).await;
        assert_eq!(queue.purge(purged).await.unwrap(), 1);
        for (other, id) in LIVE.map(|state| (state, state.as_str())) {
            assert_eq!(state(&queue, id).await, (other != purged).then_some(other));
        }
        assert_sound(&queue).await;
    }
}

async fn purge_removes_more_items_than_one_step(bench: &Bench) {
    let queue = bench.queue().await;
    let items = (0..2500).map(|i| item(format!("{i}")).priority((i % 4) as u8));
    queue.add_items(items).await.unwrap();
    queue.remove_many((0..700).map(|i| format!("{i}"))).await.unwrap();
    assert_eq!(queue.purge(State::Ready).await.unwrap(), 1800);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.totals.removed), (0, 2500));
    queue.add_items((0..1500).map(|i| item(format!("{i}")).delay(secs(1)))).await.unwrap();
    assert_eq!(queue.purge(State::Delayed).await.unwrap(), 1500);
    assert_sound(&queue).await;
}

/// They have the state that is purged, and other priorities and delays: some stand before what the next steps remove. Others
/// may add them between the steps.
async fn a_purge_leaves_the_follow_ups_that_it_fires(bench: &Bench) {
    for (state, delay) in [(State::Ready, Duration::ZERO), (State::Delayed, secs(60))] {
        let queue = bench.queue().await;
        let fires = |i: u32| {
            let next = item(format!("next {i}")).priority(((i + 1) % 3) as u8).delay(delay / 2);
            let item = item(format!("{i}")).priority((i % 3) as u8).delay(delay);
            item.follow_up(FollowUp::new(On::Ended, next))
        };
        for first in [0, 1_500] {
            queue.add_items((first..first + 1_500).map(fires)).await.unwrap();
        }
        let cleans = async || -> () {
            loop {
                queue.light_clean().await.unwrap();
            }
        };
        let purged = tokio::select! {
            purged = queue.purge(state) => purged.unwrap(),
            () = cleans() => unreachable!(),
        };
        assert_eq!(purged, 3_000);
        while queue.light_clean().await.unwrap().next_in == Some(Duration::ZERO) {}
        for i in 0..3_000 {
            assert_eq!(self::state(&queue, &format!("{i}")).await, None, "{i}");
            assert_eq!(self::state(&queue, &format!("next {i}")).await, Some(state), "{i}");
        }
        assert_sound(&queue).await;
        assert!(queue.drop_queue().await.unwrap());
    }
}

/// They were there when it began, though newer ones have come before them.
async fn a_purge_finds_what_stands_behind_newer_items(bench: &Bench) {
    let queue = bench.queue().await;
    let next = item("next").delay(secs(1));
    let fires = item("first").delay(secs(1)).follow_up(FollowUp::new(On::Ended, next));
    queue.add_items((0..1_200).map(|i| item(format!("{i}")).delay(secs(2)))).await.unwrap();
    queue.add_item(fires).await.unwrap();
    assert_eq!(queue.purge(State::Delayed).await.unwrap(), 1_201);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.delayed, counts.totals.removed), (1, 1_201));
    assert_eq!(state(&queue, "next").await, Some(State::Delayed));
    assert_sound(&queue).await;
}

async fn a_purged_lease_is_lost(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    assert_eq!(queue.purge(State::Leased).await.unwrap(), 1);
    assert!(is_lost(queue.extend(&lease, secs(1)).await));
    assert!(!queue.complete(&lease).await.unwrap());
}

on_every_engine!(
    remove_in_every_state,
    remove_many_answers_in_order,
    counts_are_exact_after_removing_ready_items,
    requeue_moves_only_dead_items,
    a_requeued_item_has_all_its_attempts_again,
    a_paused_queue_only_stops_leasing,
    pause_and_resume_may_be_repeated,
    purge_removes_one_state,
    purge_removes_more_items_than_one_step,
    a_purge_leaves_the_follow_ups_that_it_fires,
    a_purge_finds_what_stands_behind_newer_items,
    a_purged_lease_is_lost,
);
