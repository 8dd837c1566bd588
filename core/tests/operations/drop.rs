//! Dropping a queue deletes all of it, and nothing of a queue that was created since.

use std::time::Duration;

use leaseq::{Client, LeaseOptions, WorkQueue};
use leaseq_test_support::eventually;

use crate::support::*;

const PATIENT: Duration = Duration::from_secs(20);

async fn names(queue: &WorkQueue, client: &Client) -> Vec<String> {
    // The next client that compares corrects the list.
    queue.counts().await.unwrap();
    client.queues().await.unwrap()
}

async fn assert_empty(queue: &WorkQueue) {
    let (counts, items) = seen(queue).await;
    assert_eq!(counts, leaseq::Counts::default());
    assert!(items.is_empty());
    assert_sound(queue).await;
}

async fn a_drop_deletes_everything(bench: &Bench) {
    let client = bench.client().await;
    let queue = client.queue("jobs").unwrap();
    client.queue("other").unwrap().add_item(item("x")).await.unwrap();
    for _ in 0..3 {
        one_of_each_state(&queue).await;
        queue.pause().await.unwrap();
        assert_eq!(names(&queue, &client).await, ["jobs", "other"]);
        assert!(queue.drop_queue().await.unwrap());
        assert_eq!(client.queues().await.unwrap(), ["other"]);
        assert_empty(&queue).await;
        assert!(!queue.drop_queue().await.unwrap(), "there is none");
        assert!(drain(&queue).await.is_empty());
        assert_eq!(client.queues().await.unwrap(), ["other"]);
    }
    let other = client.queue("other").unwrap();
    assert_eq!(other.counts().await.unwrap().ready, 1);
    // The queue begins anew.
    assert!(queue.add_item(item("ready")).await.unwrap());
    assert_eq!(client.queues().await.unwrap(), ["jobs", "other"]);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.totals.added, counts.paused), (1, false));
    assert_eq!(take(&queue).await.attempt(), 1);
}

async fn a_queue_that_is_only_paused_exists(bench: &Bench) {
    let client = bench.client().await;
    let queue = client.queue("jobs").unwrap();
    queue.resume().await.unwrap();
    assert!(client.queues().await.unwrap().is_empty());
    queue.pause().await.unwrap();
    queue.pause().await.unwrap();
    assert_eq!(client.queues().await.unwrap(), ["jobs"]);
    assert!(queue.drop_queue().await.unwrap());
    assert!(client.queues().await.unwrap().is_empty());
    assert!(!queue.counts().await.unwrap().paused);
    assert!(!queue.drop_queue().await.unwrap());
}

async fn a_queue_that_never_existed_is_not_dropped(bench: &Bench) {
    let client = bench.client().await;
    let queue = client.queue("jobs").unwrap();
    assert!(!queue.drop_queue().await.unwrap());
    assert!(drain(&queue).await.is_empty());
    assert!(!queue.drop_queue().await.unwrap());
    assert!(client.queues().await.unwrap().is_empty());
}

async fn leases_are_lost_and_harmless(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    queue.add_items(["a", "b", "c", "d"].map(item)).await.unwrap();
    let leases = queue.lease_many(4, at_once()).await.unwrap();
    assert!(other.drop_queue().await.unwrap());
    queue.add_items(["a", "b", "c", "d"].map(item)).await.unwrap();
    let current = other.lease_many(4, at_once()).await.unwrap();
    assert!(is_lost(queue.extend(&leases[0], secs(60)).await));
    assert!(is_lost(queue.release(&leases[1], Duration::ZERO).await));
    assert!(is_lost(queue.fail(&leases[2], "x", Duration::ZERO).await));
    assert_eq!(queue.complete_many(&leases).await.unwrap(), [false; 4]);
    assert_eq!(other.complete_many(&current).await.unwrap(), [true; 4]);
    assert_sound(&queue).await;
}

async fn two_clients_may_drop_a_queue_at_once(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    for _ in 0..20 {
        queue.add_item(item("a")).await.unwrap();
        let (one, two) = tokio::join!(queue.drop_queue(), other.drop_queue());
        assert!(one.unwrap() || two.unwrap());
        assert_empty(&queue).await;
    }
}

/// Items that were acknowledged after the end of a drop exist; each id is leased at most once.
async fn a_queue_may_be_dropped_under_load(bench: &Bench) {
    let client = bench.client().await;
    let queue = client.queue("jobs").unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..3 {
        let (queue, stop) = (bench.queue().await, stop.clone());
        tasks.spawn(async move {
            let mut n = 0;
            while !stop.is_cancelled() {
                n += 1;
                queue.add_items((0..10).map(|i| item(format!("{worker}-{n}-{i}")))).await.unwrap();
                let leases = queue.lease_many(5, at_once()).await.unwrap();
                queue.complete_many(&leases).await.unwrap();
            }
        });
    }
    let mut drops = 0;
    while drops < 30 {
        drops += usize::from(queue.drop_queue().await.unwrap());
        tokio::task::yield_now().await;
    }
    stop.cancel();
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    assert_sound(&queue).await;
    queue.drop_queue().await.unwrap();
    assert_empty(&queue).await;
    assert!(names(&queue, &client).await.is_empty());
    queue.add_item(item("last")).await.unwrap();
    assert_eq!(client.queues().await.unwrap(), ["jobs"]);
}

/// A call of another client that waits, and has already asked for an item.
async fn waiting(queue: &WorkQueue, watcher: &WorkQueue) -> tokio::task::JoinHandle<String> {
    let worker = queue.clone();
    let call = tokio::spawn(async move {
        let lease = worker.lease(LeaseOptions::new(secs(10))).await.unwrap();
        lease.expect("it waits until there is one").id_str().unwrap().to_owned()
    });
    for _ in 0..3 {
        queue.counts().await.unwrap();
        watcher.counts().await.unwrap();
    }
    assert!(!call.is_finished());
    call
}

async fn waiting_calls_get_items_added_after_a_drop(bench: &Bench) {
    let adds = bench.queue_in_real_time().await;
    let mut workers = Vec::new();
    for _ in 0..5 {
        workers.push(bench.queue_in_real_time().await);
    }
    adds.add_item(item("first")).await.unwrap();
    assert!(adds.complete(&take(&adds).await).await.unwrap());
    let mut calls = Vec::new();
    for worker in &workers {
        calls.push(waiting(worker, &adds).await);
    }
    for i in 0..5 {
        adds.drop_queue().await.unwrap();
        adds.add_item(item(format!("{i}"))).await.unwrap();
        let one = async || calls.iter().any(|call| call.is_finished());
        assert!(eventually(PATIENT, one).await, "nobody got item {i}");
        let done = calls.iter().position(|call| call.is_finished()).unwrap();
        assert_eq!(calls.swap_remove(done).await.unwrap(), i.to_string());
    }
}

/// A client that waits on 15 queues polls each every 30 s: an earlier answer was a wake-up.
async fn waiting_calls_are_woken_after_a_drop(bench: &Bench) {
    let client = Client::connect(&bench.backend().url()).await.unwrap();
    let adds = bench.queue_in_real_time().await;
    let queue = |n: usize| client.queue(&if n == 0 { "jobs".into() } else { format!("q{n}") });
    // Each further call makes the poll interval of the next ones longer.
    let others: Vec<_> = (1..15).map(|n| queue(n).unwrap()).collect();
    let mut calls = Vec::new();
    for other in &others {
        calls.push(waiting(other, &adds).await);
    }
    let call = waiting(&queue(0).unwrap(), &adds).await;
    for (made, added) in [(false, false), (true, false), (true, true)] {
        if made {
            adds.pause().await.unwrap();
            adds.resume().await.unwrap();
        }
        if added {
            adds.add_item(item("later").delay(secs(600))).await.unwrap();
        }
        assert_eq!(adds.drop_queue().await.unwrap(), made);
    }
    adds.add_item(item("a")).await.unwrap();
    let got = tokio::time::timeout(secs(10), call).await.expect("it is woken").unwrap();
    assert_eq!(got, "a");
    calls.iter().for_each(tokio::task::JoinHandle::abort);
}

async fn a_call_that_was_never_driven_drops_nothing(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    drop(queue.drop_queue());
    assert_eq!(queue.counts().await.unwrap().ready, 1);
    assert!(queue.drop_queue().await.unwrap());
    assert_empty(&queue).await;
}

on_every_engine!(
    a_drop_deletes_everything,
    a_queue_that_is_only_paused_exists,
    a_queue_that_never_existed_is_not_dropped,
    leases_are_lost_and_harmless,
    two_clients_may_drop_a_queue_at_once,
    a_queue_may_be_dropped_under_load,
    waiting_calls_get_items_added_after_a_drop,
    waiting_calls_are_woken_after_a_drop,
    a_call_that_was_never_driven_drops_nothing,
);
