//! `next` and `finish`, as a face in another language uses them.

use std::time::Duration;

use leaseq::{ErrorKind, State};
use leaseq_jobs::{Finish, JobError, JobStart, Settled};
use leaseq_test_support::eventually;
use serde_json::json;

use crate::support::{Bench, PATIENCE, drained, on_every_engine, soon, start};

on_every_engine!(
    a_task_has_all_that_a_face_needs,
    a_second_finish_is_invalid,
    a_dropped_task_fails,
    a_dropped_next_loses_nothing,
    a_dropped_finish_settles,
    a_result_that_is_too_large_fails_only_its_job,
    no_more_tasks_run_than_there_are_slots,
    ending_the_worker_drops_what_is_not_reported,
    a_task_that_somebody_keeps_is_leased_no_more_after_an_abort,
    jobs_that_nobody_asks_for_are_given_back,
    a_face_that_never_waits_gets_jobs_again,
);

fn done(json: &serde_json::Value) -> Finish {
    Finish::Done { result: Some(json.to_string().into()) }
}

async fn a_task_has_all_that_a_face_needs(bench: Bench) {
    let core = bench.core(|_| {});
    let job = bench.add("a").await;
    let task = start(&core).await;
    assert_eq!((task.name(), task.queue(), task.id()), ("test.echo", "echo", job.id()));
    assert_eq!(task.args(), r#"{"text":"a"}"#);
    assert_eq!((task.attempt(), task.max_attempts(), task.last_error()), (1, 3, ""));
    assert_eq!(task.hard_deadline() - task.soft_deadline(), Duration::from_secs(10));
    assert_eq!(task.cancel_reason(), None);
    assert_eq!(soon(core.finish(&task, done(&json!(7)))).await.unwrap(), Settled::Completed);
    assert_eq!(job.result::<u32>(PATIENCE).await.unwrap(), 7);
}

async fn a_second_finish_is_invalid(bench: Bench) {
    let core = bench.core(|_| {});
    bench.add("a").await;
    let task = start(&core).await;
    let first = core.finish(&task, done(&json!(1)));
    let second = core.finish(&task, Finish::Cancelled).await.unwrap_err();
    assert_eq!(second.kind(), ErrorKind::Invalid);
    assert!(second.to_string().ends_with("the task was finished before"), "{second}");
    assert_eq!(soon(first).await.unwrap(), Settled::Completed);
}

async fn a_dropped_task_fails(bench: Bench) {
    let core = bench.core(|options| options.slots = 1);
    let job = bench.add("a").await;
    for attempt in 1..=3 {
        let task = start(&core).await;
        assert_eq!(task.attempt(), attempt);
    }
    let outcome = job.outcome(PATIENCE).await.unwrap().unwrap();
    assert_eq!(outcome.error(), Some("Dropped: the handler was dropped before it had ended"));
}

async fn a_dropped_next_loses_nothing(bench: Bench) {
    let core = bench.core(|options| options.slots = 2);
    // Polled, woken and dropped again and again, while jobs arrive.
    let mut started = 0;
    let mut added = 0;
    while started < 50 {
        if added < 50 {
            bench.add("a").await;
            added += 1;
        }
        let next = tokio::time::timeout(Duration::from_micros(added * 7), core.next());
        if let Ok(JobStart::Start(task)) = next.await {
            drop(core.finish(&task, Finish::Done { result: None }));
            started += 1;
        }
    }
    core.drain(PATIENCE);
    assert_eq!(drained(&core).await.started, 50);
    assert_eq!(bench.counts().await.completed, 50);
}

async fn a_dropped_finish_settles(bench: Bench) {
    let core = bench.core(|options| options.slots = 1);
    let (one, two) = (bench.add("a").await, bench.add("b").await);
    drop(core.finish(&start(&core).await, done(&json!(1))));
    // The slot is free.
    let error = Finish::Failed(JobError::bury("no"));
    drop(core.finish(&start(&core).await, error));
    assert_eq!(one.result::<u32>(PATIENCE).await.unwrap(), 1);
    assert!(two.result::<u32>(PATIENCE).await.is_err());
}

async fn a_result_that_is_too_large_fails_only_its_job(bench: Bench) {
    let core = bench.core(|options| options.slots = 2);
    let (large, small) = (bench.add("large").await, bench.add("small").await);
    let tasks = [start(&core).await, start(&core).await];
    let result = vec![b' '; leaseq::options::DEFAULT_MAX_DATA + 1];
    let first = core.finish(&tasks[0], Finish::Done { result: Some(result.into()) });
    let second = core.finish(&tasks[1], done(&json!("ok")));
    assert!(matches!(soon(first).await.unwrap(), Settled::Dead { .. }));
    assert_eq!(soon(second).await.unwrap(), Settled::Completed);
    assert_eq!(small.result::<String>(PATIENCE).await.unwrap(), "ok");
    assert!(bench.get(&large).await.last_error.starts_with("ResultTooLarge"));
}

async fn no_more_tasks_run_than_there_are_slots(bench: Bench) {
    let core = bench.core(|options| options.slots = 3);
    for _ in 0..20 {
        bench.add("a").await;
    }
    let mut tasks = vec![start(&core).await, start(&core).await, start(&core).await];
    for _ in 0..17 {
        assert_eq!(bench.counts().await.leased, 3);
        let task = tasks.remove(0);
        soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
        tasks.push(start(&core).await);
    }
    for task in tasks {
        soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
    }
    assert_eq!(bench.counts().await.completed, 20);
}

async fn ending_the_worker_drops_what_is_not_reported(bench: Bench) {
    let core = bench.core(|options| options.lease = Duration::from_millis(500));
    let job = bench.add("a").await;
    let task = start(&core).await;
    core.abort();
    soon(task.killed()).await;
    assert_eq!(drained(&core).await.status(), 1);
    assert_eq!(core.finish(&task, Finish::Done { result: None }).await.unwrap(), Settled::Lost);
    drop(task);
    // The lease expires, and another worker gets the job.
    let other = bench.core(|_| {});
    let task = start(&other).await;
    assert_eq!((task.id(), task.attempt()), (job.id(), 2));
    assert_eq!(bench.get(&job).await.state, State::Leased);
}

async fn a_task_that_somebody_keeps_is_leased_no_more_after_an_abort(bench: Bench) {
    let lease = Duration::from_millis(500);
    let core = bench.core(|options| options.lease = lease);
    let jobs = [bench.add("a").await, bench.add("b").await];
    let tasks = [start(&core).await, start(&core).await];
    // One has ended before, and one ends after it.
    let before = core.finish(&tasks[0], Finish::Failed(JobError::new("Broken", "")));
    soon(before).await.unwrap();
    core.abort();
    soon(core.finish(&tasks[1], Finish::Cancelled)).await.unwrap();
    let other = bench.core(|_| {});
    let mut again = Vec::new();
    for _ in 0..2 {
        let task = start(&other).await;
        assert_eq!(task.attempt(), 2);
        again.push(task);
    }
    let mut seen: Vec<_> = again.iter().map(|task| task.id().to_vec()).collect();
    seen.sort();
    let mut ids = jobs.map(|job| job.id().to_vec());
    ids.sort();
    assert_eq!(seen, ids);
    drop(tasks);
}

/// A face that has stopped asking does not keep jobs for itself, and gets them again when it asks.
async fn jobs_that_nobody_asks_for_are_given_back(bench: Bench) {
    let core = bench.core(|options| {
        (options.slots, options.prefetch) = (2, 1);
        options.lease = Duration::from_millis(300);
    });
    for name in ["a", "b", "c", "d"] {
        bench.add(name).await;
    }
    let task = start(&core).await;
    // One waits for a face, another for a slot.
    let waits = eventually(PATIENCE, async || bench.counts().await.leased == 3).await;
    assert!(waits, "{:?}", bench.counts().await);
    let given_back = eventually(PATIENCE, async || {
        let counts = bench.counts().await;
        (counts.ready, counts.leased) == (3, 1)
    });
    assert!(given_back.await, "{:?}", bench.counts().await);
    assert_eq!(core.load().waiting, 0);
    soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
    for text in ["b", "c", "d"] {
        let task = start(&core).await;
        assert_eq!(
            (task.attempt(), &task.args()[..]),
            (1, format!(r#"{{"text":"{text}"}}"#).as_bytes())
        );
        soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
    }
}

/// As for one that waits, after it has not looked for a while.
async fn a_face_that_never_waits_gets_jobs_again(bench: Bench) {
    let core = bench.core(|options| {
        options.slots = 1;
        options.lease = Duration::from_millis(300);
    });
    bench.add("a").await;
    let is_leased = eventually(PATIENCE, async || bench.counts().await.leased == 1).await;
    assert!(is_leased, "{:?}", bench.counts().await);
    let given_back = eventually(PATIENCE, async || bench.counts().await.ready == 1).await;
    assert!(given_back, "{:?}", bench.counts().await);
    let mut task = None;
    let starts = eventually(PATIENCE, async || match core.try_next() {
        Some(JobStart::Start(next)) => task.replace(next).is_none(),
        _ => false,
    });
    assert!(starts.await, "{:?}", bench.counts().await);
    soon(core.finish(&task.unwrap(), Finish::Done { result: None })).await.unwrap();
    core.drain(Duration::ZERO);
    let drained = eventually(PATIENCE, async || matches!(core.try_next(), Some(JobStart::Drained)));
    assert!(drained.await);
}
