//! Limits of how many dead and retained items a queue keeps, and for how long.

use std::time::Duration;

use leaseq::{CompleteOptions, SettingsChange, State, WorkQueue};

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

async fn configure(queue: &WorkQueue, change: SettingsChange) {
    assert!(queue.configure(change).await.unwrap().is_some());
}

fn change() -> SettingsChange {
    SettingsChange::new()
}

async fn die(queue: &WorkQueue, ids: impl Iterator<Item = String> + Clone) {
    queue.add_items(ids.clone().map(item)).await.unwrap();
    assert!(queue.bury(ids, "no").await.unwrap().into_iter().all(|buried| buried));
}

/// Completes items with these ids, the first for an hour, the next for a second more, and so on.
async fn complete(queue: &WorkQueue, ids: &[&str]) {
    for (i, id) in ids.iter().enumerate() {
        queue.add_item(item(id).retain(HOUR + secs(i as u64))).await.unwrap();
        assert!(queue.complete(&take(queue).await).await.unwrap());
    }
}

async fn ids_of(queue: &WorkQueue, state: State) -> Vec<String> {
    let items = list_all(queue, state, 1_000).await;
    items.iter().map(|item| String::from_utf8(item.id.to_vec()).unwrap()).collect()
}

async fn the_oldest_dead_items_are_removed(bench: &Bench) {
    let queue = bench.queue().await;
    for n in 0..5 {
        die(&queue, std::iter::once(n.to_string())).await;
        bench.advance(ms(1));
    }
    configure(&queue, change().max_dead(3)).await;
    assert_eq!(queue.light_clean().await.unwrap().removed, 2);
    assert_eq!(queue.light_clean().await.unwrap().removed, 0);
    assert_eq!(ids_of(&queue, State::Dead).await, ["2", "3", "4"]);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.dead, counts.totals.removed, counts.totals.died), (3, 2, 5));
    // A lease does it too, also one that finds nothing.
    die(&queue, std::iter::once("5".into())).await;
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert_eq!(ids_of(&queue, State::Dead).await, ["3", "4", "5"]);
    // The id is free.
    assert!(queue.add_item(item("2")).await.unwrap());
    configure(&queue, change().max_dead(None)).await;
    die(&queue, (10..20).map(|n| n.to_string())).await;
    queue.light_clean().await.unwrap();
    assert_eq!(queue.counts().await.unwrap().dead, 13);
    assert_sound(&queue).await;
}

async fn dead_items_are_removed_when_they_are_old(bench: &Bench) {
    let queue = bench.queue().await;
    configure(&queue, change().max_dead_age(secs(60))).await;
    for n in 0..4 {
        die(&queue, std::iter::once(n.to_string())).await;
        bench.advance(secs(10));
    }
    bench.advance(secs(30)); // the first died 70 s ago, the second 60 s
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert_eq!(ids_of(&queue, State::Dead).await, ["2", "3"]);
    // Both limits hold.
    configure(&queue, change().max_dead(1)).await;
    queue.light_clean().await.unwrap();
    assert_eq!(ids_of(&queue, State::Dead).await, ["3"]);
    bench.advance(secs(60));
    queue.light_clean().await.unwrap();
    assert_eq!(queue.counts().await.unwrap().totals.removed, 4);
    // Requeued in time, an item is not removed.
    die(&queue, std::iter::once("x".into())).await;
    assert_eq!(queue.requeue(["x"]).await.unwrap(), [true]);
    bench.advance(HOUR);
    queue.light_clean().await.unwrap();
    assert_eq!(state(&queue, "x").await, Some(State::Ready));
    assert_sound(&queue).await;
}

async fn the_retained_items_that_end_first_are_removed(bench: &Bench) {
    let queue = bench.queue().await;
    complete(&queue, &["a", "b", "c", "d"]).await;
    queue.add_item(item("x").retain(HOUR + ms(500))).await.unwrap();
    assert!(queue.cancel("x").await.unwrap());
    configure(&queue, change().max_retained(3)).await;
    queue.light_clean().await.unwrap();
    assert_eq!(ids_of(&queue, State::Completed).await, ["b", "c", "d"]);
    assert!(ids_of(&queue, State::Cancelled).await.is_empty());
    assert_eq!(queue.counts().await.unwrap().totals.removed, 2);
    // Those whose time is over make room, and do not count as removed.
    bench.advance(HOUR + secs(2));
    complete(&queue, &["e", "f"]).await;
    queue.light_clean().await.unwrap();
    assert_eq!(ids_of(&queue, State::Completed).await, ["d", "e", "f"]);
    assert_eq!(queue.counts().await.unwrap().totals.removed, 2);
    complete(&queue, &["g"]).await;
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert_eq!(ids_of(&queue, State::Completed).await.len(), 3);
    assert_sound(&queue).await;
}

async fn what_is_removed_leaves_nothing(bench: &Bench) {
    let queue = bench.queue().await;
    configure(&queue, change().max_dead(1).max_retained(1)).await;
    for id in ["a", "b"] {
        let unique = item(id).unique(format!("key {id}")).retain(HOUR).max_attempts(1);
        queue.add_item(unique.clone()).await.unwrap();
        let done = CompleteOptions::new().result("large".repeat(1_000));
        assert!(queue.complete_with(&take(&queue).await, done).await.unwrap());
        let dead = unique.with_id(format!("dead {id}")).unique(format!("dead {id}"));
        queue.add_item(dead.unique_for(HOUR)).await.unwrap();
        queue.fail(&take(&queue).await, "no", Duration::ZERO).await.unwrap();
        bench.advance(ms(1));
    }
    // The last lease has removed the completed one.
    assert_eq!(queue.light_clean().await.unwrap().removed, 1);
    assert_eq!(queue.counts().await.unwrap().totals.removed, 2);
    assert_eq!(ids_of(&queue, State::Completed).await, ["b"]);
    assert_eq!(ids_of(&queue, State::Dead).await, ["dead b"]);
    assert_sound(&queue).await;
    assert!(queue.add_item(item("c").unique("key a")).await.unwrap(), "it is free");
    assert!(!queue.add_item(item("d").unique("dead a")).await.unwrap(), "it is reserved");
    bench.advance(HOUR);
    assert!(queue.add_item(item("d").unique("dead a")).await.unwrap());
    assert_sound(&queue).await;
}

async fn a_step_removes_a_bounded_number(bench: &Bench) {
    let queue = bench.queue().await;
    die(&queue, (0..1_300).map(|n| format!("{n:04}"))).await;
    configure(&queue, change().max_dead(50)).await;
    // A lease removes 100 at most; on Redis this one asks twice, because it finds many tombstones.
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    let left = queue.counts().await.unwrap().dead;
    assert!((1_100..1_300).contains(&left), "{left}");
    // A clean goes on until no more is left to remove.
    queue.light_clean().await.unwrap();
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.dead, counts.totals.removed), (50, 1_250));
    let items: Vec<_> = (0..700).map(|n| item(n.to_string()).retain(HOUR)).collect();
    queue.add_items(items).await.unwrap();
    let leases = queue.lease_many(700, at_once()).await.unwrap();
    queue.complete_many(&leases).await.unwrap();
    configure(&queue, change().max_retained(5).max_dead_age(ms(1))).await;
    bench.advance(ms(1));
    queue.light_clean().await.unwrap();
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.completed, counts.dead), (5, 0));
    assert_sound(&queue).await;
}

/// A cleaner looks once a minute, and is not told that there is something to do when there is nothing.
async fn a_cleaner_looks_once_a_minute(bench: &Bench) {
    let queue = bench.queue().await;
    let due = async || queue.wait_until_due(ms(1)).await.unwrap();
    configure(&queue, change().max_dead(2).max_retained(2)).await;
    die(&queue, ["a", "b"].map(str::to_owned).into_iter()).await;
    assert!(!due().await);
    die(&queue, std::iter::once("c".into())).await;
    assert!(due().await, "nobody has cleaned yet");
    let report = queue.light_clean().await.unwrap();
    assert_eq!((queue.counts().await.unwrap().dead, report.next_in), (2, None));
    assert!(!due().await);
    die(&queue, std::iter::once("d".into())).await;
    assert!(!due().await);
    bench.advance(secs(60));
    assert!(due().await);
    queue.light_clean().await.unwrap();
    assert!(!due().await);
    complete(&queue, &["e", "f", "g"]).await;
    assert!(!due().await);
    bench.advance(secs(60));
    assert!(due().await);
    queue.light_clean().await.unwrap();
    assert_eq!(queue.counts().await.unwrap().completed, 2);
    // The age of dead items, too.
    configure(&queue, change().max_dead_age(secs(300)).max_dead(None).max_retained(None)).await;
    assert!(!due().await);
    bench.advance(secs(240)); // the dead items died 120 s before
    assert!(due().await);
    queue.light_clean().await.unwrap();
    assert_eq!(queue.counts().await.unwrap().dead, 0);
    assert!(!due().await);
}

on_every_engine!(
    the_oldest_dead_items_are_removed,
    dead_items_are_removed_when_they_are_old,
    the_retained_items_that_end_first_are_removed,
    what_is_removed_leaves_nothing,
    a_step_removes_a_bounded_number,
    a_cleaner_looks_once_a_minute,
);
