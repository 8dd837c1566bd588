//! Progress that holders of leases report.

use std::time::{Duration, Instant};

use leaseq::{CompleteOptions, GetOptions, ItemInfo, Lease, LeaseOptions, ListOptions, Revision};
use leaseq::{State, WorkQueue};
use leaseq_test_support::eventually;

use crate::support::*;

async fn progress(queue: &WorkQueue, id: &str) -> Option<Vec<u8>> {
    queue.get(id).await.unwrap().unwrap().progress.map(|progress| progress.to_vec())
}

fn text(progress: &str) -> Option<Vec<u8>> {
    Some(progress.as_bytes().to_vec())
}

/// An item of this id, leased by a holder that has come so far.
async fn held(queue: &WorkQueue, id: &str, progress: &str) -> Lease {
    queue.add_item(item(id)).await.unwrap();
    let lease = take(queue).await;
    queue.set_progress(&lease, progress.to_owned()).await.unwrap();
    lease
}

async fn it_is_shown(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    assert_eq!(progress(&queue, "a").await, None);
    let lease = take(&queue).await;
    let any = [&b";:0\0\xff"[..], &[7; 1_019]].concat();
    queue.set_progress(&lease, any.clone()).await.unwrap();
    assert_eq!(progress(&queue, "a").await.as_ref(), Some(&any));
    let other = bench.queue().await;
    let shown = |info: &ItemInfo| assert_eq!(info.progress.as_deref(), Some(&any[..]));
    let many = other.get_many_with(["a"], GetOptions::new().without_data()).await.unwrap();
    many.iter().for_each(|info| shown(info.as_ref().unwrap()));
    let page =
        other.list_with(State::Leased, None, &ListOptions::new().without_data()).await.unwrap();
    page.items.iter().for_each(shown);
    assert_eq!((many.len(), page.items.len()), (1, 1));
    // Nothing else of the item has changed.
    assert!(queue.complete_with(&lease, CompleteOptions::new().strict()).await.unwrap());
    assert_eq!(queue.counts().await.unwrap().totals.completed, 1);
}

async fn nothing_is_something(bench: &Bench) {
    let queue = bench.queue().await;
    held(&queue, "a", "").await;
    assert_eq!(progress(&queue, "a").await, text(""));
}

async fn it_outlives_the_lease(bench: &Bench) {
    let queue = bench.queue().await;
    let lease = held(&queue, "a", "one").await;
    queue.release(&lease, ms(0)).await.unwrap();
    assert_eq!(progress(&queue, "a").await, text("one"));
    let lease = take(&queue).await;
    assert_eq!(progress(&queue, "a").await, text("one"));
    queue.set_progress(&lease, "two").await.unwrap();
    queue.fail(&lease, "no", secs(1)).await.unwrap();
    assert_eq!(progress(&queue, "a").await, text("two"));
    bench.advance(secs(1));
    let lease = take(&queue).await;
    queue.set_progress(&lease, "three").await.unwrap();
    bench.advance(secs(60));
    queue.light_clean().await.unwrap();
    assert_eq!(progress(&queue, "a").await, text("three"));
    // Operators do not change how far the last attempt came.
    assert!(queue.revise("a", Revision::new().data("new")).await.unwrap());
    assert_eq!(queue.bury(["a"], "no").await.unwrap(), [true]);
    assert_eq!(progress(&queue, "a").await, text("three"));
    assert_eq!(queue.requeue(["a"]).await.unwrap(), [true]);
    assert_eq!(progress(&queue, "a").await, text("three"));
    let again = take(&queue).await;
    queue.set_progress(&again, "four").await.unwrap();
    assert_eq!(progress(&queue, "a").await, text("four"));
}

async fn an_item_that_is_added_anew_has_none(bench: &Bench) {
    let queue = bench.queue().await;
    for end in ["complete", "remove", "purge", "cancel", "replace"] {
        let lease = held(&queue, "a", end).await;
        match end {
            "complete" => assert!(queue.complete(&lease).await.unwrap()),
            "remove" => assert!(queue.remove("a").await.unwrap()),
            "purge" => assert_eq!(queue.purge(State::Leased).await.unwrap(), 1),
            "cancel" => {
                queue.release(&lease, ms(0)).await.unwrap();
                assert!(queue.cancel("a").await.unwrap());
            }
            _ => queue.release(&lease, ms(0)).await.unwrap(),
        }
        assert!(queue.add_item(item("a").replace()).await.unwrap());
        assert_eq!(progress(&queue, "a").await, None, "{end}");
        assert!(queue.remove("a").await.unwrap());
    }
    assert!(queue.deep_clean().await.unwrap().is_sound());
}

async fn retained_items(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b"].map(|id| item(id).retain(secs(60)))).await.unwrap();
    let (a, b) = (take(&queue).await, take(&queue).await);
    queue.set_progress(&a, "half").await.unwrap();
    queue.set_progress(&b, "half").await.unwrap();
    assert!(queue.complete_with(&a, CompleteOptions::new().result("all")).await.unwrap());
    let done = queue.get("a").await.unwrap().unwrap();
    assert_eq!((done.progress, done.result.as_deref()), (None, Some(&b"all"[..])));
    // It shows how far a cancelled item came.
    assert!(queue.cancel("b").await.unwrap());
    queue.set_progress(&b, "more").await.unwrap();
    queue.fail(&b, "", ms(0)).await.unwrap();
    let cancelled = queue.get("b").await.unwrap().unwrap();
    assert_eq!(cancelled.state, State::Cancelled);
    assert_eq!(cancelled.progress.as_deref(), Some(&b"more"[..]));
    bench.advance(secs(60));
    queue.light_clean().await.unwrap();
    assert!(queue.deep_clean().await.unwrap().is_sound());
}

async fn only_the_holder_may(bench: &Bench) {
    let queue = bench.queue().await;
    let first = held(&queue, "a", "one").await;
    bench.advance(secs(60));
    // As with `extend`, an expired lease is current until somebody reclaims the item.
    let other = bench.queue().await;
    let second = take(&other).await;
    other.set_progress(&second, "two").await.unwrap();
    // The value waits for its second, and comes too late.
    queue.set_progress(&first, "late").await.unwrap();
    let refused = async || queue.set_progress(&first, "late").await.is_err();
    assert!(eventually(secs(5), refused).await);
    assert!(is_lost(queue.set_progress(&first, "late").await));
    assert!(first.is_lost());
    assert_eq!(progress(&queue, "a").await, text("two"));
    queue.light_clean().await.unwrap();
    let third = bench.queue().await;
    assert!(is_lost(third.set_progress(&first, "late").await));
    assert_eq!(progress(&queue, "a").await, text("two"));
}

async fn a_lease_that_has_ended_is_known_to(bench: &Bench) {
    let queue = bench.queue().await;
    let completed = held(&queue, "a", "one").await;
    assert!(queue.complete(&completed).await.unwrap());
    assert!(is_lost(queue.set_progress(&completed, "late").await));
    assert!(completed.is_settled() && !completed.is_lost());
    let released = held(&queue, "b", "one").await;
    queue.release(&released, secs(9)).await.unwrap();
    assert!(is_lost(queue.set_progress(&released, "late").await));
    queue.add_item(item("c")).await.unwrap();
    let removed = take(&queue).await;
    assert!(queue.remove("c").await.unwrap());
    assert!(is_lost(queue.set_progress(&removed, "late").await));
    assert!(removed.is_lost());
}

/// 20,000 updates in less than a second are two requests; the last one counts.
async fn updates_are_merged(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    let (a, b) = (held(&queue, "a", "begun").await, held(&queue, "b", "begun").await);
    let begin = Instant::now();
    let mut last = 0;
    while begin.elapsed() < ms(300) {
        last += 1;
        queue.set_progress(&a, last.to_string()).await.unwrap();
        queue.set_progress(&b, format!("b{last}")).await.unwrap();
    }
    assert!(last > 100, "{last}");
    assert_eq!(progress(&other, "a").await, text("begun"));
    let stored = async || progress(&other, "a").await == text(&last.to_string());
    assert!(eventually(secs(5), stored).await);
    assert_eq!(progress(&other, "b").await, text(&format!("b{last}")));
    assert!(begin.elapsed() > ms(900), "{:?}", begin.elapsed());
}

/// What waits is stored before the lease ends by a failure or a release, and dropped by a completion.
async fn an_end_sends_what_waits(bench: &Bench) {
    let queue = bench.queue().await;
    let failed = held(&queue, "failed", "begun").await;
    let released = held(&queue, "released", "begun").await;
    let completed = held(&queue, "completed", "begun").await;
    for lease in [&failed, &released, &completed] {
        queue.set_progress(lease, "nearly").await.unwrap();
    }
    let begin = Instant::now();
    queue.fail(&failed, "no", secs(60)).await.unwrap();
    queue.release(&released, secs(60)).await.unwrap();
    assert!(queue.complete_with(&completed, CompleteOptions::new().retain(secs(9))).await.unwrap());
    assert!(begin.elapsed() < ms(900), "{:?}", begin.elapsed());
    for id in ["failed", "released"] {
        assert_eq!(progress(&queue, id).await, text("nearly"));
    }
    assert_eq!(progress(&queue, "completed").await, None);
}

async fn close_sends_what_waits(bench: &Bench) {
    let client = bench.client().await;
    let queue = client.queue("jobs").unwrap();
    let lease = held(&queue, "a", "begun").await;
    queue.set_progress(&lease, "nearly").await.unwrap();
    let begin = Instant::now();
    client.close().await;
    assert!(begin.elapsed() < ms(900), "{:?}", begin.elapsed());
    let closed = queue.set_progress(&lease, "late").await.unwrap_err();
    assert_eq!(closed.kind(), leaseq::ErrorKind::Closed);
    assert_eq!(progress(&bench.queue().await, "a").await, text("nearly"));
}

async fn many_leases_share_a_request(bench: &Bench) {
    let queue = bench.queue().await;
    let names: Vec<String> = (0..2_500).map(|i| i.to_string()).collect();
    queue.add_items(names.iter().map(item)).await.unwrap();
    let mut leases = Vec::new();
    while leases.len() < names.len() {
        leases.extend(queue.lease_many(1_000, LeaseOptions::new(secs(600))).await.unwrap());
    }
    for value in ["begun", "nearly"] {
        let mut reports = Vec::new();
        for lease in &leases {
            reports.push(queue.set_progress(lease, [value, lease.id_str().unwrap()].concat()));
        }
        for report in futures_of(reports).await {
            report.unwrap();
        }
    }
    let stored = async || {
        let infos = queue.get_many(&names).await.unwrap();
        infos.into_iter().all(|info| {
            let info = info.unwrap();
            info.progress == Some([b"nearly", &info.id[..]].concat().into())
        })
    };
    assert!(eventually(secs(10), stored).await);
}

/// All of them at the same time.
async fn futures_of<T: Send>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut pending: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<T>> = pending.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, done) in pending.iter_mut().zip(&mut done) {
            if done.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *done = Some(value);
            }
        }
        match done.iter().all(Option::is_some) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    done.into_iter().flatten().collect()
}

/// A call that is dropped leaves no gap: the second value is stored, the third one later.
async fn a_dropped_call_is_executed(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    let _ = tokio::time::timeout(Duration::ZERO, queue.set_progress(&lease, "one")).await;
    queue.set_progress(&lease, "two").await.unwrap();
    assert!(eventually(secs(5), async || progress(&queue, "a").await == text("two")).await);
}

on_every_engine!(
    it_is_shown,
    nothing_is_something,
    it_outlives_the_lease,
    an_item_that_is_added_anew_has_none,
    retained_items,
    only_the_holder_may,
    a_lease_that_has_ended_is_known_to,
    updates_are_merged,
    an_end_sends_what_waits,
    close_sends_what_waits,
    many_leases_share_a_request,
    a_dropped_call_is_executed,
);
