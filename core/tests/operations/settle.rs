//! `extend`, `release` and `fail` by the holder of the current lease.

use std::time::Duration;

use leaseq::{ReleaseOptions, State};
use leaseq_test_support::eventually;

use crate::support::*;

async fn extend_moves_the_deadline(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    bench.advance(secs(5));
    let deadline = queue.extend(&lease, secs(10)).await.unwrap();
    assert_eq!(since_1970(deadline), bench.now() + 10_000);
    assert_eq!(lease.deadline(), deadline);
    assert_eq!(queue.get("a").await.unwrap().unwrap().at, Some(deadline));
    bench.advance(ms(9_999));
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    bench.advance(ms(1));
    take(&queue).await;
}

async fn extend_never_shortens(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    let before = lease.deadline();
    assert_eq!(queue.extend(&lease, ms(1)).await.unwrap(), before);
    assert_eq!(queue.get("a").await.unwrap().unwrap().at, Some(before));
}

async fn extend_works_past_the_deadline_until_the_item_is_reclaimed(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    bench.advance(secs(60));
    assert_eq!(since_1970(queue.extend(&lease, secs(1)).await.unwrap()), bench.now() + 1000);
    assert_eq!(queue.light_clean().await.unwrap().expired, 0);
    bench.advance(secs(1));
    assert_eq!(queue.light_clean().await.unwrap().expired, 1);
    assert!(is_lost(queue.extend(&lease, secs(1)).await));
    assert_eq!(state(&queue, "a").await, Some(State::Ready));
}

async fn extend_twice_in_one_batch_is_the_later_of_both(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    let both = queue.extend_many([&lease, &lease], secs(20)).await.unwrap();
    assert!(both.iter().all(|answer| answer.is_ok()), "{both:?}");
    let (long, short) =
        tokio::join!(queue.extend(&lease, secs(40)), queue.extend(&lease, secs(30)));
    assert_eq!(since_1970(long.unwrap()), bench.now() + 40_000);
    assert_eq!(since_1970(short.unwrap()), bench.now() + 40_000);
    let (short, long) =
        tokio::join!(queue.extend(&lease, secs(50)), queue.extend(&lease, secs(60)));
    assert_eq!(since_1970(short.unwrap()), bench.now() + 50_000);
    assert_eq!(since_1970(long.unwrap()), bench.now() + 60_000);
    let at = queue.get("a").await.unwrap().unwrap().at.unwrap();
    assert_eq!(since_1970(at), bench.now() + 60_000);
}

async fn release_counts_no_attempt(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a").max_attempts(1)).await.unwrap();
    for _ in 0..3 {
        let lease = take(&queue).await;
        assert_eq!(lease.attempt(), 1);
        queue.release(&lease, Duration::ZERO).await.unwrap();
        assert!(!lease.is_lost());
    }
    queue.release(&take(&queue).await, ms(5)).await.unwrap();
    assert_eq!(state(&queue, "a").await, Some(State::Delayed));
    bench.advance(ms(5));
    assert_eq!(take(&queue).await.attempt(), 1);
}

async fn release_works_past_the_deadline_until_the_item_is_reclaimed(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    bench.advance(secs(60));
    queue.release(&lease, Duration::ZERO).await.unwrap();
    assert_eq!(take(&queue).await.attempt(), 1);
}

async fn fail_counts_and_returns_the_new_state(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a").max_attempts(3)).await.unwrap();
    let failed = queue.fail(&take(&queue).await, "one", Duration::ZERO).await.unwrap();
    assert_eq!((failed, state(&queue, "a").await), (State::Ready, Some(State::Ready)));
    let failed = queue.fail(&take(&queue).await, "two", ms(5)).await.unwrap();
    assert_eq!((failed, state(&queue, "a").await), (State::Delayed, Some(State::Delayed)));
    bench.advance(ms(5));
    let failed = queue.fail(&take(&queue).await, "three", ms(5)).await.unwrap();
    let info = queue.get("a").await.unwrap().unwrap();
    assert_eq!((failed, info.state), (State::Dead, State::Dead));
    assert_eq!((info.failures, info.last_error.as_str()), (3, "three"));
    bench.advance(secs(60));
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    let totals = queue.counts().await.unwrap().totals;
    assert_eq!((totals.failed, totals.died), (3, 1));
}

async fn without_a_limit_an_item_never_dies(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    for attempt in 1..=100 {
        let lease = take(&queue).await;
        assert_eq!(lease.attempt(), attempt);
        assert_eq!(queue.fail(&lease, "", Duration::ZERO).await.unwrap(), State::Ready);
    }
}

async fn error_texts_are_truncated_between_characters(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    for (text, kept) in [
        ("x".repeat(1024), "x".repeat(1024)),
        ("x".repeat(1025), "x".repeat(1024)),
        ("ä".repeat(600), "ä".repeat(512)),
        (format!("x{}", "ä".repeat(600)), format!("x{}", "ä".repeat(511))),
        (format!("{}😀", "x".repeat(1021)), "x".repeat(1021)),
        ("a:b\0c\r\n%d {}".to_owned(), "a:b\0c\r\n%d {}".to_owned()),
        (String::new(), String::new()),
    ] {
        queue.fail(&take(&queue).await, &text, Duration::ZERO).await.unwrap();
        assert_eq!(queue.get("a").await.unwrap().unwrap().last_error, kept);
        let lease = take(&queue).await;
        assert_eq!(lease.last_error(), kept);
        queue.release(&lease, Duration::ZERO).await.unwrap();
    }
}

async fn the_same_lease_twice_in_one_batch_counts_once(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    let failed = queue.fail_many([(&lease, "x"), (&lease, "y")], Duration::ZERO).await.unwrap();
    assert_eq!(*failed[0].as_ref().unwrap(), State::Ready);
    assert!(is_lost(failed[1].clone()));
    let lease = take(&queue).await;
    assert_eq!((lease.failures(), lease.last_error()), (1, "x"));
    let released = queue.release_many([&lease, &lease], Duration::ZERO).await.unwrap();
    assert!(released[0].is_ok() && is_lost(released[1].clone()));
    assert_eq!(drain(&queue).await, ["a"]);
    assert_sound(&queue).await;
}

async fn what_the_client_gives_back_keeps_the_reasons_of_releases(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    for (reason, kept) in [("no handler", Some(1)), ("no handler", Some(2)), ("", None)] {
        let options = ReleaseOptions::new().reason(reason);
        queue.release_with(&take(&queue).await, options).await.unwrap();
        let lease = take(&queue).await;
        assert_eq!(lease.releases().map(|releases| releases.count), kept);
        queue.give_back([&lease]);
        drop(lease);
        let back = async || queue.get("a").await.unwrap().unwrap().state == State::Ready;
        assert!(eventually(secs(10), back).await);
        let releases = queue.get("a").await.unwrap().unwrap().releases;
        assert_eq!(releases.map(|releases| releases.count), kept);
    }
}

on_every_engine!(
    what_the_client_gives_back_keeps_the_reasons_of_releases,
    extend_moves_the_deadline,
    extend_never_shortens,
    extend_works_past_the_deadline_until_the_item_is_reclaimed,
    extend_twice_in_one_batch_is_the_later_of_both,
    release_counts_no_attempt,
    release_works_past_the_deadline_until_the_item_is_reclaimed,
    fail_counts_and_returns_the_new_state,
    without_a_limit_an_item_never_dies,
    error_texts_are_truncated_between_characters,
    the_same_lease_twice_in_one_batch_counts_once,
);
