//! Leasing with a wait, on the engine's own clock. Waiting calls poll every 2 s anyway: an earlier answer
//! was a wake-up.

use std::time::{Duration, Instant};

use leaseq::{LeaseOptions, Revision, WorkQueue};
use tokio::task::JoinHandle;

use crate::support::*;

const WOKEN: Duration = Duration::from_millis(1500);

/// A call that waits without limit, and has already asked for an item.
async fn waiting(queue: &WorkQueue) -> JoinHandle<String> {
    let worker = queue.clone();
    let call = tokio::spawn(async move {
        let lease = worker.lease(LeaseOptions::new(secs(10))).await.unwrap();
        lease.expect("it waits until there is one").id_str().unwrap().to_owned()
    });
    for _ in 0..3 {
        queue.counts().await.unwrap();
    }
    assert!(!call.is_finished());
    call
}

async fn woken(call: JoinHandle<String>) -> String {
    tokio::time::timeout(WOKEN, call).await.expect("it must wake").unwrap()
}

async fn a_wait_ends(bench: &Bench) {
    let queue = bench.queue_in_real_time().await;
    let begin = Instant::now();
    let options = LeaseOptions::new(secs(10)).wait(ms(100));
    assert!(queue.lease(options).await.unwrap().is_none());
    assert!((ms(100)..WOKEN).contains(&begin.elapsed()), "{:?}", begin.elapsed());
}

async fn an_add_wakes(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    let call = waiting(&queue).await;
    other.add_item(item("a")).await.unwrap();
    assert_eq!(woken(call).await, "a");
}

async fn a_release_and_a_failure_wake(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&other).await;
    let call = waiting(&queue).await;
    other.release(&lease, Duration::ZERO).await.unwrap();
    assert_eq!(woken(call).await, "a");

    queue.add_item(item("b")).await.unwrap();
    let lease = take(&other).await;
    let call = waiting(&queue).await;
    other.fail(&lease, "", Duration::ZERO).await.unwrap();
    assert_eq!(woken(call).await, "b");
}

async fn the_clock_wakes(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    queue.add_item(item("due").delay(ms(100))).await.unwrap();
    let call = waiting(&queue).await;
    assert_eq!(woken(call).await, "due");

    other.add_item(item("expired")).await.unwrap();
    let short = LeaseOptions::new(ms(100)).wait(Duration::ZERO);
    other.lease(short).await.unwrap().unwrap();
    let call = waiting(&queue).await;
    assert_eq!(woken(call).await, "expired");
}

async fn a_resume_and_a_requeue_wake(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    other.add_item(item("a").max_attempts(1)).await.unwrap();
    other.pause().await.unwrap();
    let call = waiting(&queue).await;
    other.resume().await.unwrap();
    assert_eq!(woken(call).await, "a");

    other.add_item(item("b").max_attempts(1)).await.unwrap();
    other.fail(&take(&other).await, "", Duration::ZERO).await.unwrap();
    let call = waiting(&queue).await;
    assert_eq!(other.requeue(["b"]).await.unwrap(), [true]);
    assert_eq!(woken(call).await, "b");
}

async fn a_revision_wakes(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    for delay in [ms(0), ms(100)] {
        other.add_item(item("a").delay(secs(600))).await.unwrap();
        let call = waiting(&queue).await;
        assert!(other.revise("a", Revision::new().delay(delay)).await.unwrap());
        assert_eq!(woken(call).await, "a");
        other.remove("a").await.unwrap();
    }
}

async fn every_waiting_call_gets_an_item(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    let mut calls = Vec::new();
    for _ in 0..5 {
        calls.push(waiting(&queue).await);
        calls.push(waiting(&other).await);
    }
    queue.add_items((0..10).map(|i| item(format!("{i}")))).await.unwrap();
    let mut got = Vec::new();
    for call in calls {
        got.push(woken(call).await);
    }
    got.sort();
    assert_eq!(got, (0..10).map(|i| format!("{i}")).collect::<Vec<_>>());
}

/// Calls that together want more items than fit into one request do not delay other calls of their client,
/// neither while they wait nor after they have ended with too few items.
async fn calls_may_want_more_than_one_request(bench: &Bench) {
    let queue = bench.queue_in_real_time().await;
    let lease_600 = |wait: Option<Duration>| {
        let (queue, mut options) = (queue.clone(), LeaseOptions::new(secs(60)));
        options.wait = wait;
        tokio::spawn(async move { queue.lease_many(600, options).await.unwrap().len() })
    };
    let soon = |adding| tokio::time::timeout(secs(5), adding);
    for wait in [None, Some(Duration::ZERO)] {
        queue.add_items((0..5).map(|i| item(format!("{i}")))).await.unwrap();
        let calls = [lease_600(wait), lease_600(wait), lease_600(wait)];
        let mut leased = 0;
        let mut next = 5;
        for call in calls {
            while !call.is_finished() {
                let more = queue.add_item(item(format!("{wait:?} {next}")));
                assert!(soon(more).await.expect("nothing holds it up").unwrap());
                next += 1;
                tokio::task::yield_now().await;
            }
            leased += call.await.unwrap();
        }
        assert!(leased <= next);
        let last = queue.add_item(item(format!("{wait:?} last")));
        assert!(soon(last).await.expect("nothing holds it up").unwrap());
        for state in leaseq::State::ALL {
            queue.purge(state).await.unwrap();
        }
    }
}

on_every_engine!(
    calls_may_want_more_than_one_request,
    a_wait_ends,
    an_add_wakes,
    a_release_and_a_failure_wake,
    the_clock_wakes,
    a_resume_and_a_requeue_wake,
    a_revision_wakes,
    every_waiting_call_gets_an_item,
);
