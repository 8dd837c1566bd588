//! Support for cleaners: notifications of due items, and turns at deep cleans.

use std::time::{Duration, Instant};

use leaseq::{DeepClean, ErrorKind, LeaseOptions, WorkQueue};
use leaseq_test_support::eventually;
use tokio::task::JoinHandle;

use crate::support::*;

/// Far less than the rest: an earlier wake-up was a notification.
const TOLD: Duration = Duration::from_secs(30);
const REST: Duration = Duration::from_secs(600);

/// A cleaner that sleeps.
async fn asleep(queue: &WorkQueue) -> JoinHandle<bool> {
    let cleaner = queue.clone();
    let call = tokio::spawn(async move { cleaner.wait_until_due(REST).await.unwrap() });
    // The cleaner has polled, and nothing was due.
    tokio::time::sleep(ms(100)).await;
    assert!(!call.is_finished());
    call
}

/// Checks that the cleaner is notified, but not too early. `since`: before the call that made something due.
async fn is_told(call: JoinHandle<bool>, since: Instant, due_in: Duration) {
    let due = tokio::time::timeout(TOLD, call).await.expect("it must be told").unwrap();
    // The engines count in whole ms.
    assert!(due && since.elapsed() + ms(20) >= due_in, "{:?}", since.elapsed());
}

async fn a_sleeping_cleaner_is_notified_of_earlier_items(bench: &Bench) {
    let cleaner = bench.queue_in_real_time().await;
    let queue = bench.queue_in_real_time().await;
    for from_same_client in [false, true] {
        let queue = if from_same_client { &cleaner } else { &queue };
        queue.add_items([item("a"), item("b"), item("c")]).await.unwrap();
        let call = asleep(&cleaner).await;
        let since = Instant::now();
        queue.lease(LeaseOptions::new(ms(200))).await.unwrap().unwrap();
        is_told(call, since, ms(200)).await;
        assert_eq!(cleaner.light_clean().await.unwrap().expired, 1);
        let call = asleep(&cleaner).await;
        let since = Instant::now();
        queue.add_item(item("d").delay(ms(200))).await.unwrap();
        is_told(call, since, ms(200)).await;
        assert_eq!(cleaner.light_clean().await.unwrap().promoted, 1);
        for fails in [false, true] {
            let lease = take(queue).await;
            let call = asleep(&cleaner).await;
            let since = Instant::now();
            if fails {
                queue.fail(&lease, "x", ms(200)).await.unwrap();
            } else {
                queue.release(&lease, ms(200)).await.unwrap();
            }
            is_told(call, since, ms(200)).await;
            assert_eq!(cleaner.light_clean().await.unwrap().promoted, 1);
        }
        for lease in queue.lease_many(10, at_once()).await.unwrap() {
            queue.complete(&lease).await.unwrap();
        }
    }
}

async fn a_cleaner_sleeps_until_the_next_item_or_the_end_of_its_rest(bench: &Bench) {
    let queue = bench.queue_in_real_time().await;
    assert!(!queue.wait_until_due(ms(30)).await.unwrap(), "a queue that does not exist");
    queue.add_item(item("a")).await.unwrap();
    assert!(!queue.wait_until_due(ms(30)).await.unwrap());
    let since = Instant::now();
    queue.lease(LeaseOptions::new(ms(150))).await.unwrap().unwrap();
    let call = tokio::spawn(async move { queue.wait_until_due(REST).await.unwrap() });
    is_told(call, since, ms(150)).await;
}

/// Retained items whose time is over are deleted although nobody uses the queue: within a minute.
async fn a_cleaner_wakes_for_what_is_to_be_deleted(bench: &Bench) {
    let queue = bench.queue().await;
    let kept = item("a").retain(secs(30)).unique("k").unique_for(secs(200));
    queue.add_item(kept).await.unwrap();
    queue.complete(&take(&queue).await).await.unwrap();
    assert!(!queue.wait_until_due(ms(30)).await.unwrap());
    let next = queue.light_clean().await.unwrap().next_in.unwrap();
    assert!(secs(30) <= next && next <= secs(90), "{next:?}");
    bench.advance(next);
    assert!(queue.wait_until_due(ms(30)).await.unwrap());
    let next = queue.light_clean().await.unwrap().next_in.unwrap();
    assert!(secs(110) <= next && next <= secs(230), "the unique key: {next:?}");
    bench.advance(next);
    assert!(queue.wait_until_due(ms(30)).await.unwrap());
    assert_eq!(queue.light_clean().await.unwrap().next_in, None);
}

async fn workers_and_cleaners_do_not_take_each_others_tokens(bench: &Bench) {
    let (cleaner, worker) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    let producer = bench.queue_in_real_time().await;
    producer.add_item(item("first")).await.unwrap();
    worker.complete(&take(&worker).await).await.unwrap();
    let sleeping = asleep(&cleaner).await;
    for i in 0..20 {
        let waiting = worker.clone();
        let waits = LeaseOptions::new(secs(3600)).wait(secs(30));
        let call = tokio::spawn(async move { waiting.lease(waits).await.unwrap() });
        tokio::time::sleep(ms(20)).await;
        producer.add_item(item(format!("{i}"))).await.unwrap();
        let lease = tokio::time::timeout(ms(1_500), call).await.expect("it is woken").unwrap();
        worker.complete(&lease.unwrap()).await.unwrap();
    }
    assert!(!sleeping.is_finished(), "nothing was due within its rest");
    sleeping.abort();
}

async fn closing_ends_the_sleep_and_bad_times_are_invalid(bench: &Bench) {
    let client = bench.client().await;
    let queue = client.queue("jobs").unwrap();
    for rest in [Duration::ZERO, secs(3601)] {
        assert_eq!(kind(queue.wait_until_due(rest).await), ErrorKind::Invalid);
    }
    assert_eq!(kind(queue.deep_clean_if_due(secs(400 * 86_400)).await), ErrorKind::Invalid);
    let sleeper = queue.clone();
    let call = tokio::spawn(async move { sleeper.wait_until_due(REST).await });
    tokio::time::sleep(ms(50)).await;
    client.close().await;
    assert_eq!(kind(call.await.unwrap()), ErrorKind::Closed);
}

fn done(clean: &DeepClean) -> bool {
    matches!(clean, DeepClean::Done(_))
}

async fn a_deep_clean_is_done_once_in_an_interval(bench: &Bench) {
    let (one, two) = (bench.queue().await, bench.queue().await);
    one.add_item(item("a")).await.unwrap();
    let hours = secs(6 * 3600);
    assert!(done(&one.deep_clean_if_due(hours).await.unwrap()));
    for queue in [&one, &two] {
        let again = queue.deep_clean_if_due(hours).await.unwrap();
        assert_eq!(again, DeepClean::NotYet(hours));
    }
    bench.advance(hours - secs(1));
    assert_eq!(two.deep_clean_if_due(hours).await.unwrap(), DeepClean::NotYet(secs(1)));
    // Another cleaner may have another interval.
    assert!(done(&two.deep_clean_if_due(secs(60)).await.unwrap()));
    bench.advance(secs(1));
    assert!(!done(&one.deep_clean_if_due(hours).await.unwrap()));
    bench.advance(hours);
    let both = tokio::join!(one.deep_clean_if_due(hours), two.deep_clean_if_due(hours));
    assert!(done(&both.0.unwrap()) ^ done(&both.1.unwrap()), "exactly one of them");
}

async fn many_items(queue: &WorkQueue) {
    for from in (0..20_000).step_by(10_000) {
        queue.add_items((from..from + 10_000).map(|i| item(format!("{i}")))).await.unwrap();
    }
}

async fn a_turn_ends_with_its_holder(bench: &Bench) {
    let (one, two) = (bench.queue().await, bench.queue().await);
    many_items(&one).await;
    let hours = secs(3600);
    // Dropped half-way: the turn is released.
    let dropped = tokio::time::timeout(ms(30), one.deep_clean_if_due(hours)).await;
    assert!(dropped.is_err(), "it takes longer than that");
    let other = || async { two.deep_clean_if_due(hours).await.unwrap() };
    let begun = Instant::now();
    let next = eventually(secs(20), async || {
        let clean = tokio::time::timeout(ms(30), other()).await;
        clean.is_err() || done(&clean.unwrap())
    });
    assert!(next.await, "nobody got the turn for {:?}", begun.elapsed());
    // That clean was dropped too. Now kill a cleaner, which releases nothing. It may be killed too soon,
    // before it has its turn, or too late: then repeat when the clean is due again.
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < secs(60), "nobody got the turn");
        let mut clean = Box::pin(one.deep_clean_if_due(hours));
        let under_way = tokio::time::timeout(ms(100), &mut clean).await.is_err();
        std::mem::forget(clean);
        match other().await {
            // A longer wait means that the clean was finished after all.
            DeepClean::NotYet(wait) if under_way && wait <= secs(60) => break,
            _ => bench.advance(hours + secs(61)),
        }
    }
    bench.advance(secs(61));
    assert!(done(&other().await));
}

async fn a_clock_that_was_set_back_does_not_delay_a_deep_clean_for_ever(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    bench.advance(secs(365 * 86_400));
    assert!(done(&queue.deep_clean_if_due(secs(3600)).await.unwrap()));
    bench.backend().set_clock(bench.now() - 300 * 86_400_000);
    match queue.deep_clean_if_due(secs(3600)).await.unwrap() {
        DeepClean::NotYet(wait) => assert!(wait <= secs(3600), "{wait:?}"),
        DeepClean::Done(_) => {}
    }
}

on_every_engine!(
    a_cleaner_wakes_for_what_is_to_be_deleted,
    a_sleeping_cleaner_is_notified_of_earlier_items,
    a_cleaner_sleeps_until_the_next_item_or_the_end_of_its_rest,
    workers_and_cleaners_do_not_take_each_others_tokens,
    closing_ends_the_sleep_and_bad_times_are_invalid,
    a_deep_clean_is_done_once_in_an_interval,
    a_turn_ends_with_its_holder,
    a_clock_that_was_set_back_does_not_delay_a_deep_clean_for_ever,
);
