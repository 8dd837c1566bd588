//! A stale handle changes nothing, above all not a later generation with the same id.

use std::time::Duration;

use ::redis::Commands;
use leaseq::{CompleteOptions, Item, Lease, WorkQueue};

use crate::support::*;

/// No operation of the handle changes anything.
async fn assert_harmless(queue: &WorkQueue, stale: &Lease, is_gone: bool) {
    let before = seen(queue).await;
    assert!(is_lost(queue.extend(stale, secs(60)).await));
    assert!(is_lost(queue.release(stale, Duration::ZERO).await));
    assert!(is_lost(queue.release(stale, secs(1)).await));
    assert!(is_lost(queue.fail(stale, "stale", Duration::ZERO).await));
    assert!(is_lost(queue.fail(stale, "stale", secs(1)).await));
    assert!(!queue.complete_with(stale, CompleteOptions::new().strict()).await.unwrap());
    if is_gone {
        assert!(!queue.complete(stale).await.unwrap());
    }
    assert_eq!(seen(queue).await, before);
    assert_sound(queue).await;
}

async fn stale_lease(bench: &Bench, queue: &WorkQueue) -> Lease {
    queue.add_item(item("a").priority(3)).await.unwrap();
    let lease = take(queue).await;
    bench.advance(secs(10));
    queue.light_clean().await.unwrap();
    lease
}

async fn after_the_item_was_reclaimed(bench: &Bench) {
    let queue = bench.queue().await;
    let stale = stale_lease(bench, &queue).await;
    assert_harmless(&queue, &stale, false).await;
    assert!(stale.is_lost());
}

async fn while_another_holds_the_item(bench: &Bench) {
    let queue = bench.queue().await;
    let stale = stale_lease(bench, &queue).await;
    let current = take(&queue).await;
    assert_harmless(&queue, &stale, false).await;
    assert!(queue.extend(&current, secs(20)).await.is_ok());
    assert!(queue.complete(&current).await.unwrap());
}

async fn after_the_holder_released_the_item(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    let released = take(&queue).await;
    queue.release(&released, Duration::ZERO).await.unwrap();
    assert_harmless(&queue, &released, false).await;
    let failed = take(&queue).await;
    assert_harmless(&queue, &released, false).await;
    queue.fail(&failed, "", Duration::ZERO).await.unwrap();
    assert_harmless(&queue, &failed, false).await;
}

async fn after_another_completed_it(bench: &Bench) {
    let queue = bench.queue().await;
    let stale = stale_lease(bench, &queue).await;
    queue.complete(&take(&queue).await).await.unwrap();
    assert_harmless(&queue, &stale, true).await;
}

async fn after_the_id_was_added_again(bench: &Bench) {
    let queue = bench.queue().await;
    let stale = stale_lease(bench, &queue).await;
    queue.complete(&take(&queue).await).await.unwrap();

    queue.add_item(item("a")).await.unwrap();
    assert_harmless(&queue, &stale, true).await;
    let current = take(&queue).await;
    assert_harmless(&queue, &stale, true).await;
    queue.release(&current, secs(60)).await.unwrap();
    assert_harmless(&queue, &stale, true).await;
}

async fn after_the_item_was_removed(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    queue.remove("a").await.unwrap();
    assert_harmless(&queue, &lease, true).await;
    queue.add_item(item("a")).await.unwrap();
    assert_harmless(&queue, &lease, true).await;
}

async fn after_death_and_requeue(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a").max_attempts(1)).await.unwrap();
    let first = take(&queue).await;
    queue.fail(&first, "", Duration::ZERO).await.unwrap();
    assert_harmless(&queue, &first, false).await;
    queue.requeue(["a"]).await.unwrap();
    assert_harmless(&queue, &first, false).await;
    let second = take(&queue).await;
    assert_eq!(second.attempt(), first.attempt());
    assert_harmless(&queue, &first, false).await;
}

/// It had expired, and the item was changed in each state that it can have then.
async fn after_the_item_was_buried_or_revised(bench: &Bench) {
    let queue = bench.queue().await;
    for (end, revise) in
        [("reclaim", false), ("reclaim", true), ("delay", false), ("delay", true), ("die", true)]
    {
        queue.add_item(item("a").priority(3).max_attempts(3)).await.unwrap();
        let [first, stale] = match end {
            "reclaim" => {
                let first = take(&queue).await;
                bench.advance(secs(10));
                [first, take(&queue).await]
            }
            _ => {
                let first = take(&queue).await;
                queue.fail(&first, "", Duration::ZERO).await.unwrap();
                [first, take(&queue).await]
            }
        };
        match end {
            "reclaim" => {
                bench.advance(secs(10));
                queue.light_clean().await.unwrap();
            }
            "delay" => queue.release(&stale, secs(60)).await.unwrap(),
            _ => {
                let dead = leaseq::FailOptions::new().dead();
                queue.fail_with(&stale, "", dead).await.unwrap();
            }
        }
        if revise {
            assert!(queue.revise("a", leaseq::Revision::new().data("new")).await.unwrap());
        } else {
            assert_eq!(queue.bury(["a"], "").await.unwrap(), [true]);
        }
        for handle in [&first, &stale] {
            assert_harmless(&queue, handle, true).await;
        }
        queue.requeue(["a"]).await.unwrap();
        assert_harmless(&queue, &stale, true).await;
        bench.advance(secs(60));
        let current = take(&queue).await;
        assert!(current.generation() > stale.generation());
        for handle in [&first, &stale] {
            assert_harmless(&queue, handle, true).await;
        }
        let done = queue.complete_and_lease([&first, &stale, &current], 1, at_once()).await;
        assert_eq!(done.unwrap().completed, [false, false, true]);
    }
}

async fn among_valid_handles_in_one_batch(bench: &Bench) {
    let queue = bench.queue().await;
    let stale = stale_lease(bench, &queue).await;
    queue.add_item(item("b")).await.unwrap();
    let [a, b] = [take(&queue).await, take(&queue).await];

    let extended = queue.extend_many([&stale, &a, &b], secs(20)).await.unwrap();
    assert_eq!(
        extended.iter().map(|answer| answer.is_ok()).collect::<Vec<_>>(),
        [false, true, true]
    );
    let failed = queue.fail_many([(&a, "x"), (&stale, "y")], Duration::ZERO).await.unwrap();
    assert!(failed[0].is_ok() && is_lost(failed[1].clone()));
    let released = queue.release_many([&stale, &b, &a], Duration::ZERO).await.unwrap();
    assert!(is_lost(released[0].clone()) && released[1].is_ok() && is_lost(released[2].clone()));
    assert_eq!(queue.get("a").await.unwrap().unwrap().last_error, "x");
    assert_sound(&queue).await;
}

async fn a_lease_of_another_queue_is_refused(bench: &Bench) {
    let client = bench.client().await;
    let (one, two) = (client.queue("one").unwrap(), client.queue("two").unwrap());
    one.add_item(item("a")).await.unwrap();
    two.add_item(item("a")).await.unwrap();
    let lease = take(&one).await;
    for error in [
        two.complete(&lease).await.unwrap_err(),
        two.extend(&lease, secs(1)).await.unwrap_err(),
        two.release(&lease, Duration::ZERO).await.unwrap_err(),
        two.fail(&lease, "", Duration::ZERO).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), leaseq::ErrorKind::Invalid);
        assert!(error.to_string().contains("one") && error.to_string().contains("two"));
    }
    assert!(one.complete(&lease).await.unwrap());
}

/// A replica that takes over while its master still adds may give the same counts in the same millisecond.
#[tokio::test]
async fn after_a_server_that_took_over_counted_from_there_again() {
    for alone in [true, false] {
        let redis = redis::Redis::start();
        let mut raw = redis.server().connection();
        let bench = Bench::new(redis);
        let queue = bench.queue().await;
        queue.add_items(["a", "b", "c"].map(item)).await.unwrap();
        let lost = queue.lease_many(3, at_once()).await.unwrap();
        let keys: Vec<String> = raw.keys("leaseq:{jobs}:*").unwrap();
        raw.del::<_, ()>(keys).unwrap();
        // Other items, and the same ids again.
        let large = Item::new(vec![0; 100_000]).with_id("z");
        queue.add_items([item("x"), item("b"), large]).await.unwrap();
        let leases = queue.lease_many(3, at_once()).await.unwrap();
        let counts = |leases: &[Lease]| leases.iter().map(Lease::generation).collect::<Vec<_>>();
        assert_eq!(counts(&leases), counts(&lost));

        for lease in &lost {
            assert_harmless(&queue, lease, false).await;
        }
        if alone {
            assert!(!queue.complete(&lost[0]).await.unwrap());
            let next = queue.complete_and_lease([&lost[2]], 1, at_once()).await.unwrap();
            assert_eq!(next.completed, [false]);
        } else {
            assert_eq!(queue.complete_many(&lost).await.unwrap(), [false; 3]);
        }
        assert_eq!(queue.complete_many(&leases).await.unwrap(), [true; 3]);
        assert_eq!(queue.counts().await.unwrap().totals.completed, 3);
        assert_sound(&queue).await;
    }
}

on_every_engine!(
    after_the_item_was_reclaimed,
    while_another_holds_the_item,
    after_the_holder_released_the_item,
    after_another_completed_it,
    after_the_id_was_added_again,
    after_the_item_was_removed,
    after_death_and_requeue,
    after_the_item_was_buried_or_revised,
    among_valid_handles_in_one_batch,
    a_lease_of_another_queue_is_refused,
);
