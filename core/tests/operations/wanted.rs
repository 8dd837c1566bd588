//! Waiting for as many items as a number says that changes meanwhile, on the engine's own clock. What happens within
//! 1.5 s was a notification: waiting calls poll every 2 s anyway.

use std::time::Duration;

use leaseq::{Item, LeaseOptions, Rate, Schedule, ScheduleRule, SettingsChange, Wanted, WorkQueue};
use leaseq_test_support::eventually;
use tokio::task::JoinHandle;

use crate::support::*;

const WOKEN: Duration = Duration::from_millis(1500);

/// A call that has asked once and found nothing.
async fn waiting(queue: &WorkQueue, wanted: &Wanted) -> JoinHandle<Vec<String>> {
    let (worker, wanted) = (queue.clone(), wanted.clone());
    let call = tokio::spawn(async move {
        ids(&worker.lease_wanted(&wanted, LeaseOptions::new(secs(10))).await.unwrap())
    });
    for _ in 0..3 {
        queue.counts().await.unwrap();
    }
    assert!(!call.is_finished());
    call
}

async fn woken(call: JoinHandle<Vec<String>>) -> Vec<String> {
    tokio::time::timeout(WOKEN, call).await.expect("it must wake").unwrap()
}

async fn who_wants_nothing_hears_of_items(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    let call = waiting(&queue, &Wanted::new(0)).await;
    other.add_item(item("a")).await.unwrap();
    assert!(woken(call).await.is_empty());
    assert_eq!(other.counts().await.unwrap().ready, 1);
    // Also at once, and of what comes by itself.
    let nothing = Wanted::new(0);
    let again = queue.lease_wanted(&nothing, LeaseOptions::new(secs(10)));
    assert!(tokio::time::timeout(WOKEN, again).await.unwrap().unwrap().is_empty());
    other.complete(&take(&other).await).await.unwrap();
    let call = waiting(&queue, &Wanted::new(0)).await;
    other.add_item(item("due").delay(ms(300))).await.unwrap();
    assert!(woken(call).await.is_empty());
    assert_eq!(take(&other).await.id(), b"due");
}

async fn it_leaves_items_to_others_that_wait(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    for n in 0..5 {
        let news = waiting(&queue, &Wanted::new(0)).await;
        let takes = waiting(&other, &Wanted::new(1)).await;
        let id = format!("{n}");
        queue.add_item(item(&id)).await.unwrap();
        assert_eq!(woken(takes).await, [id]);
        // What it would hear of may be gone.
        news.abort();
    }
}

async fn the_number_changes_while_it_waits(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    let wanted = Wanted::new(0);
    let call = waiting(&queue, &wanted).await;
    wanted.set(2);
    other.add_items(["a", "b", "c"].map(item)).await.unwrap();
    assert_eq!(woken(call).await, ["a", "b"]);
    queue.complete(&take(&queue).await).await.unwrap();
    let call = waiting(&queue, &wanted).await;
    wanted.set(0);
    other.add_item(item("d")).await.unwrap();
    assert!(woken(call).await.is_empty());
    assert_eq!(take(&queue).await.id(), b"d");
}

/// A call of the same client that leases shares requests with it.
async fn calls_of_both_kinds_share_requests(bench: &Bench) {
    let queue = bench.queue_in_real_time().await;
    let call = waiting(&queue, &Wanted::new(0)).await;
    let none = queue.lease(LeaseOptions::new(secs(10)).wait(Duration::ZERO)).await.unwrap();
    assert!(none.is_none() && !call.is_finished());
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    let lease = take(&queue).await;
    assert!(woken(call).await.is_empty());
    assert!(queue.complete(&lease).await.unwrap());
    assert_eq!(queue.counts().await.unwrap().ready, 1);
}

/// Nothing can be leased: neither of a paused queue nor while the rate is used up.
async fn what_cannot_be_leased_is_no_news(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    other.add_item(item("a")).await.unwrap();
    other.pause().await.unwrap();
    let call = waiting(&queue, &Wanted::new(0)).await;
    other.resume().await.unwrap();
    assert!(woken(call).await.is_empty());
    let rate = Rate::new(1, ms(700));
    other.configure(SettingsChange::new().rate(rate)).await.unwrap();
    take(&other).await;
    other.add_item(item("b")).await.unwrap();
    let call = waiting(&queue, &Wanted::new(0)).await;
    assert!(woken(call).await.is_empty());
    assert_eq!(take(&other).await.id(), b"b");
}

async fn schedules_tick_while_nobody_wants_anything(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    let call = waiting(&queue, &Wanted::new(0)).await;
    let rule = ScheduleRule::every(ms(300)).unwrap();
    other.put_schedule(Schedule::new("s", rule, Item::new("tick"))).await.unwrap();
    assert!(woken(call).await.is_empty());
    // The next one waits for the end of this one, so it is due and adds nothing.
    other.complete(&take(&other).await).await.unwrap();
    let ticked = eventually(WOKEN, async || {
        let next = queue.tick_schedules().await.unwrap();
        assert!(next.is_some_and(|next| next <= ms(300)), "{next:?}");
        queue.counts().await.unwrap().ready == 1
    });
    assert!(ticked.await);
}

on_every_engine!(
    who_wants_nothing_hears_of_items,
    it_leaves_items_to_others_that_wait,
    the_number_changes_while_it_waits,
    calls_of_both_kinds_share_requests,
    what_cannot_be_leased_is_no_news,
    schedules_tick_while_nobody_wants_anything,
);
