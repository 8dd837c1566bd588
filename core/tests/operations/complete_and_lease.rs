//! `complete_and_lease`: completes first, then leases.

use std::time::Duration;

use leaseq::{CompleteOptions, ErrorKind, KeepAlive, LeaseOptions, WorkQueue};

use crate::support::*;

async fn with_items(queue: &WorkQueue, n: usize) {
    queue.add_items((0..n).map(|i| item(i.to_string()))).await.unwrap();
}

async fn completes_a_batch_and_leases_the_next(bench: &Bench) {
    let queue = bench.queue().await;
    with_items(&queue, 5).await;
    let first = queue.lease_many(2, at_once()).await.unwrap();
    let done = queue.complete_and_lease(&first, 2, at_once()).await.unwrap();
    assert_eq!(
        (&done.completed[..], ids(&done.leases)),
        (&[true; 2][..], vec!["2".into(), "3".into()])
    );
    assert!(first.iter().all(leaseq::Lease::is_settled));
    let done = queue.complete_and_lease(&done.leases, 5, at_once()).await.unwrap();
    assert_eq!((&done.completed[..], ids(&done.leases)), (&[true; 2][..], vec!["4".into()]));
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.leased, counts.totals.leased, counts.totals.completed), (1, 5, 4));
    assert_sound(&queue).await;
}

async fn an_empty_half_leaves_the_other_half(bench: &Bench) {
    let queue = bench.queue().await;
    let nothing = queue.complete_and_lease([], 1, at_once()).await.unwrap();
    assert!(nothing.completed.is_empty() && nothing.leases.is_empty());
    with_items(&queue, 1).await;
    let leased = queue.complete_and_lease([], 1, at_once()).await.unwrap();
    assert_eq!((leased.completed.len(), ids(&leased.leases)), (0, vec!["0".into()]));
    let completed = queue.complete_and_lease(&leased.leases, 1, at_once()).await.unwrap();
    assert_eq!((completed.completed, completed.leases.len()), (vec![true], 0));
}

async fn completes_before_it_leases(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items([item("a"), item("b").delay(secs(10))]).await.unwrap();
    let lease = take(&queue).await;
    // In the other order it would have reclaimed and leased the item itself.
    bench.advance(secs(10));
    let done = queue.complete_and_lease([&lease], 5, at_once()).await.unwrap();
    assert_eq!((done.completed, ids(&done.leases)), (vec![true], vec!["b".into()]));
    assert_eq!(queue.counts().await.unwrap().totals.expired, 0);
    assert_sound(&queue).await;
}

async fn answers_for_each_lease_as_complete_does(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let stale = take(&queue).await;
    bench.advance(secs(10));
    let second = take(&queue).await;
    with_items(&queue, 3).await;
    let many = queue.lease_many(2, at_once()).await.unwrap();
    let leases = [&many[0], &stale, &second, &many[1], &many[0]];
    let strict = CompleteOptions::new().strict();
    let done = queue.complete_and_lease_with(leases, strict, 1, at_once()).await.unwrap();
    assert_eq!(done.completed, [true, false, true, true, false]);
    assert!(stale.is_lost() && !stale.is_settled() && second.is_settled());
    assert_eq!(ids(&done.leases), ["2"]);
    queue.release(&done.leases[0], Duration::ZERO).await.unwrap();
    let done = queue.complete_and_lease([&stale], 1, at_once()).await.unwrap();
    assert_eq!((done.completed, ids(&done.leases)), (vec![false], vec!["2".into()]));
    assert_sound(&queue).await;
}

async fn an_invalid_call_changes_nothing(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.client().await.queue("other").unwrap());
    with_items(&queue, 2).await;
    other.add_item(item("a")).await.unwrap();
    let (lease, foreign) = (take(&queue).await, take(&other).await);
    let before = seen(&queue).await;
    let short = LeaseOptions::new(Duration::ZERO).wait(Duration::ZERO);
    for failed in [
        queue.complete_and_lease([&lease], 0, at_once()).await,
        queue.complete_and_lease([&lease], 1, short).await,
        queue.complete_and_lease([&lease, &foreign], 1, at_once()).await,
    ] {
        assert_eq!(kind(failed), ErrorKind::Invalid);
    }
    assert_eq!(seen(&queue).await, before);
    assert!(!lease.is_settled());
}

async fn a_paused_queue_completes_and_leases_nothing(bench: &Bench) {
    let queue = bench.queue().await;
    with_items(&queue, 2).await;
    let lease = take(&queue).await;
    queue.pause().await.unwrap();
    let done = queue.complete_and_lease([&lease], 1, at_once()).await.unwrap();
    assert_eq!((done.completed, done.leases.len()), (vec![true], 0));
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.leased, counts.totals.completed), (1, 0, 1));
}

async fn more_items_than_fit_into_one_request(bench: &Bench) {
    let queue = bench.queue().await;
    with_items(&queue, 4_200).await;
    let mut leases = Vec::new();
    for _ in 0..3 {
        leases.extend(queue.lease_many(1000, at_once()).await.unwrap());
    }
    let done = queue.complete_and_lease(&leases[..2_500], 1_000, at_once()).await.unwrap();
    assert_eq!((done.completed, done.leases.len()), (vec![true; 2_500], 1_000));
    let done = queue.complete_and_lease(&leases[2_500..], 700, at_once()).await.unwrap();
    assert_eq!((done.completed, done.leases.len()), (vec![true; 500], 200));
    assert_sound(&queue).await;
}

async fn many_concurrent_calls_each_get_their_own_answers(bench: &Bench) {
    let queue = bench.queue().await;
    with_items(&queue, 1_500).await;
    let mut leases = queue.lease_many(700, at_once()).await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    while let Some(lease) = leases.pop() {
        let queue = queue.clone();
        calls.spawn(async move { queue.complete_and_lease([&lease], 1, at_once()).await.unwrap() });
    }
    let done = calls.join_all().await;
    assert!(done.iter().all(|done| done.completed == [true] && done.leases.len() == 1));
    let mut all: Vec<String> = done.iter().flat_map(|done| ids(&done.leases)).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 700);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.leased, counts.totals.completed), (100, 700, 700));
}

/// Without the completion the call would wait for the whole 60 s. Other tests check that waits end in time.
const SOON: Duration = Duration::from_secs(20);

async fn soon(what: impl AsyncFnMut() -> bool) {
    assert!(leaseq_test_support::eventually(SOON, what).await);
}

async fn completes_at_once_and_then_waits(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    queue.add_item(item("mine")).await.unwrap();
    let lease = std::sync::Arc::new(take(&queue).await);
    // An earlier call waits for as many items as a request carries.
    let greedy = tokio::spawn({
        let queue = queue.clone();
        async move { queue.lease_many(1000, LeaseOptions::new(secs(60))).await.unwrap() }
    });
    for _ in 0..3 {
        other.counts().await.unwrap();
    }
    let call = tokio::spawn({
        let (queue, lease) = (queue.clone(), lease.clone());
        let options = LeaseOptions::new(secs(60)).wait(secs(60));
        async move { queue.complete_and_lease([&*lease], 1, options).await.unwrap() }
    });
    soon(async || other.counts().await.unwrap().totals.completed == 1).await;
    soon(async || lease.is_settled()).await;
    assert!(!call.is_finished() && !greedy.is_finished());
    other.add_item(item("next")).await.unwrap();
    assert_eq!(ids(&greedy.await.unwrap()), ["next"]);
    other.add_item(item("last")).await.unwrap();
    let done = tokio::time::timeout(SOON, call).await.unwrap().unwrap();
    assert_eq!((done.completed, ids(&done.leases)), (vec![true], vec!["last".into()]));
}

async fn reports_completions_when_the_wait_is_over(bench: &Bench) {
    let queue = bench.queue_in_real_time().await;
    with_items(&queue, 1).await;
    let lease = take(&queue).await;
    let done = queue.complete_and_lease([&lease], 1, at_once().wait(ms(50))).await.unwrap();
    assert_eq!((done.completed, done.leases.len()), (vec![true], 0));
}

async fn a_call_closed_during_its_wait_has_completed(bench: &Bench) {
    let client = bench.client().await;
    let queue = client.queue("closed").unwrap();
    with_items(&queue, 1).await;
    let lease = take(&queue).await;
    let wait = LeaseOptions::new(secs(10));
    let close = async {
        soon(async || lease.is_settled()).await;
        client.close().await;
    };
    let (done, ()) = tokio::join!(queue.complete_and_lease([&lease], 1, wait), close);
    assert_eq!(kind(done), ErrorKind::Closed);
    let counts = bench.client().await.queue("closed").unwrap().counts().await.unwrap();
    assert_eq!((counts.leased, counts.totals.completed), (0, 1));
}

async fn the_new_leases_are_kept_alive(bench: &Bench) {
    let queue = bench.queue_in_real_time().await;
    with_items(&queue, 2).await;
    let short = LeaseOptions::new(ms(3_000)).wait(Duration::ZERO).keep_alive(KeepAlive::new());
    let first = queue.lease_many(1, short.clone()).await.unwrap();
    let done = queue.complete_and_lease(&first, 1, short).await.unwrap();
    let before = done.leases[0].deadline();
    soon(async || done.leases[0].deadline() > before).await;
    assert!(!done.leases[0].is_lost());
}

on_every_engine!(
    completes_a_batch_and_leases_the_next,
    an_empty_half_leaves_the_other_half,
    completes_before_it_leases,
    answers_for_each_lease_as_complete_does,
    an_invalid_call_changes_nothing,
    a_paused_queue_completes_and_leases_nothing,
    more_items_than_fit_into_one_request,
    many_concurrent_calls_each_get_their_own_answers,
    completes_at_once_and_then_waits,
    reports_completions_when_the_wait_is_over,
    a_call_closed_during_its_wait_has_completed,
    the_new_leases_are_kept_alive,
);
