//! No more handlers run at once than there are slots, and none for a lease that is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leaseq_jobs::{Finish, Job, JobStart, NewJob, QueueOptions, Settled};
use leaseq_test_support::eventually;
use serde_json::json;

use crate::support::{Bench, Echo, PATIENCE, drained, on_every_engine, soon, start};

on_every_engine!(
    calls_that_wait_obtain_no_more_than_there_are_slots,
    no_job_is_leased_without_a_slot_for_it,
    a_worker_starts_no_more_jobs_than_it_may,
    several_callers_get_what_is_ready,
    a_job_whose_lease_is_lost_is_not_started,
);

async fn fill(bench: &Bench, queue: &str, count: usize) {
    let new = |_| NewJob::named(Echo::NAME, queue, &json!({ "text": queue }));
    bench.producer().enqueue_many((0..count).map(new)).await.unwrap();
}

fn two_queues() -> Vec<QueueOptions> {
    ["a", "b"].map(QueueOptions::new).into()
}

async fn calls_that_wait_obtain_no_more_than_there_are_slots(bench: Bench) {
    let core = bench.core(|options| {
        options.queues = two_queues();
        options.slots = 10;
    });
    // Both queues are waited on, for five jobs each.
    let idle = tokio::time::timeout(Duration::from_millis(200), core.next()).await;
    assert!(idle.is_err(), "there is no job");
    let mut tasks = Vec::new();
    for _ in 0..9 {
        fill(&bench, "b", 1).await;
        tasks.push(start(&core).await);
    }
    fill(&bench, "a", 5).await;
    tasks.push(start(&core).await);
    let more = tokio::time::timeout(Duration::from_millis(300), core.next()).await;
    assert!(more.is_err(), "an eleventh job starts on ten slots: {more:?}");
    // The others are given back, and run afterwards.
    let a = bench.client.queue("a").unwrap();
    assert!(
        eventually(PATIENCE, async || a.counts().await.unwrap().ready == 4).await,
        "the others are ready"
    );
    soon(core.finish(&tasks[0], Finish::Done { result: None })).await.unwrap();
    assert_eq!(start(&core).await.queue(), "a");
}

/// The next request is sent before the jobs of the last one have their places.
async fn no_job_is_leased_without_a_slot_for_it(bench: Bench) {
    const JOBS: u64 = 60;
    fill(&bench, Echo::QUEUE, JOBS as usize).await;
    let core = bench.core(|options| options.slots = 4);
    for _ in 0..JOBS / 4 {
        let tasks =
            [start(&core).await, start(&core).await, start(&core).await, start(&core).await];
        for task in &tasks {
            soon(core.finish(task, Finish::Done { result: None })).await.unwrap();
        }
    }
    let all = async || bench.counts().await.totals.completed == JOBS;
    assert!(eventually(PATIENCE, all).await);
    // None was given back and leased again.
    assert_eq!(bench.counts().await.totals.leased, JOBS);
}

async fn a_worker_starts_no_more_jobs_than_it_may(bench: Bench) {
    let core = Arc::new(bench.core(|options| {
        options.queues = two_queues();
        options.slots = 20;
        options.max_jobs = Some(10);
    }));
    let idle = tokio::time::timeout(Duration::from_millis(200), core.next()).await;
    assert!(idle.is_err(), "there is no job");
    let mut tasks = Vec::new();
    for _ in 0..9 {
        fill(&bench, "b", 1).await;
        tasks.push(start(&core).await);
    }
    fill(&bench, "a", 5).await;
    tasks.push(start(&core).await);
    for task in &tasks {
        soon(core.finish(task, Finish::Done { result: None })).await.unwrap();
    }
    assert_eq!(drained(&core).await.started, 10);
}

async fn several_callers_get_what_is_ready(bench: Bench) {
    let core = Arc::new(bench.core(|options| options.slots = 20));
    let running = Arc::new(AtomicUsize::new(0));
    for _ in 0..20 {
        let (core, running) = (core.clone(), running.clone());
        tokio::spawn(async move {
            while let JobStart::Start(task) = core.next().await {
                running.fetch_add(1, Ordering::Relaxed);
                // It runs for as long as the test does.
                task.cancelled().await;
            }
        });
    }
    for _ in 0..20 {
        bench.add("a").await;
    }
    assert!(eventually(PATIENCE, async || running.load(Ordering::Relaxed) == 20).await, "all run");
    core.abort();
}

async fn a_job_whose_lease_is_lost_is_not_started(bench: Bench) {
    let core = bench.core(|options| {
        options.slots = 2;
        options.lease = Duration::from_millis(100);
    });
    let jobs = [bench.add("a").await, bench.add("b").await];
    let queue = bench.client.queue(Echo::QUEUE).unwrap();
    assert!(
        eventually(PATIENCE, async || queue.counts().await.unwrap().leased == 2).await,
        "both are leased"
    );
    // Both wait for a face. The worker hears that the lease of the second is lost when it extends that.
    assert!(queue.remove(jobs[1].id()).await.unwrap());
    tokio::time::sleep(Duration::from_millis(500)).await;
    let first = start(&core).await;
    assert_eq!(first.id(), jobs[0].id());
    let second = tokio::time::timeout(Duration::from_millis(100), core.next()).await;
    assert!(second.is_err(), "a removed job starts: {second:?}");
    let settled = soon(core.finish(&first, Finish::Done { result: None })).await.unwrap();
    assert_eq!(settled, Settled::Completed);
    core.drain(PATIENCE);
    assert_eq!(drained(&core).await.started, 1);
}
