//! Ending a worker.

use std::time::{Duration, Instant};

use leaseq::State;
use leaseq_jobs::{Context, ExitReason, Finish, JobError, Reason, Settled, WorkerCore};

use leaseq_test_support::eventually;

use crate::support::{Bench, Echo, PATIENCE, Seen, drained, on_every_engine, soon, start};

on_every_engine!(
    nothing_is_started_after_the_drain_and_what_runs_may_end,
    what_was_leased_and_not_started_is_released,
    handlers_are_cancelled_after_the_grace_period_and_use_no_attempt,
    a_second_drain_shortens_the_grace_period,
    a_face_that_does_not_stop_keeps_its_lease,
    a_process_that_ends_gives_its_jobs_back,
    a_drain_at_any_moment_strands_nothing,
    a_dropped_run_lets_leases_expire,
);

/// For tests of what happens before it is over.
const LONG: Duration = Duration::from_secs(600);

async fn nothing_is_started_after_the_drain_and_what_runs_may_end(bench: Bench) {
    let core = bench.core(|_| {});
    let job = bench.add("a").await;
    let task = start(&core).await;
    core.drain(LONG);
    bench.add("b").await;
    assert_eq!(
        soon(core.finish(&task, Finish::Done { result: None })).await.unwrap(),
        Settled::Completed
    );
    let exit = drained(&core).await;
    assert_eq!((exit.reason, exit.status(), exit.started), (ExitReason::Drained, 0, 1));
    assert_eq!(bench.get(&job).await.state, State::Completed);
    assert_eq!(bench.counts().await.ready, 1);
    // Again, and an abort, change nothing.
    core.drain(Duration::ZERO);
    core.abort();
    assert_eq!(drained(&core).await.reason, ExitReason::Drained);
}

async fn what_was_leased_and_not_started_is_released(bench: Bench) {
    for _ in 0..5 {
        bench.add("a").await;
    }
    let core = bench.core(|options| options.slots = 5);
    let task = start(&core).await;
    core.drain(LONG);
    soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
    assert!(drained(&core).await.started >= 1);
    let counts = bench.counts().await;
    assert_eq!((counts.ready, counts.leased, counts.completed), (4, 0, 1));
}

async fn handlers_are_cancelled_after_the_grace_period_and_use_no_attempt(bench: Bench) {
    let core = bench.core(|_| {});
    let jobs = [bench.add("a").await, bench.add("b").await];
    let tasks = [start(&core).await, start(&core).await];
    core.drain(Duration::from_millis(50));
    for task in &tasks {
        assert_eq!(soon(task.cancelled()).await, Reason::Shutdown);
    }
    let failed = Finish::Failed(JobError::new("Interrupted", ""));
    let released = Settled::Released { delay: Duration::ZERO };
    assert_eq!(soon(core.finish(&tasks[0], failed)).await.unwrap(), released);
    assert_eq!(soon(core.finish(&tasks[1], Finish::Cancelled)).await.unwrap(), released);
    drained(&core).await;
    for job in &jobs {
        let item = bench.get(job).await;
        assert_eq!((item.state, item.failures, item.expiries), (State::Ready, 0, 0));
        let releases = item.releases.unwrap();
        assert_eq!((releases.reason.as_str(), releases.count), ("shutdown", 1));
    }
}

async fn a_second_drain_shortens_the_grace_period(bench: Bench) {
    let core = bench.core(|_| {});
    bench.add("a").await;
    let task = start(&core).await;
    core.drain(LONG);
    core.drain(Duration::MAX);
    core.drain(Duration::ZERO);
    assert_eq!(soon(task.cancelled()).await, Reason::Shutdown);
    soon(core.finish(&task, Finish::Cancelled)).await.unwrap();
    drained(&core).await;
}

/// Drains, and leaves a task running until the worker has ended. Returns how long that took.
async fn ends_without(core: &WorkerCore) -> Duration {
    let begun = Instant::now();
    core.drain(Duration::ZERO);
    drained(core).await;
    begun.elapsed()
}

async fn a_face_that_does_not_stop_keeps_its_lease(bench: Bench) {
    let core = bench.core(|options| options.lease = Duration::from_millis(500));
    let job = bench.add("a").await;
    let task = start(&core).await;
    let took = ends_without(&core).await;
    assert!(took >= Duration::from_secs(3), "{took:?}");
    assert_eq!(core.exit().running, 1);
    soon(task.killed()).await;
    // The lease goes on for longer than its duration, and the late end counts.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(bench.get(&job).await.state, State::Leased);
    drop(core.finish(&task, Finish::Done { result: None }));
    drop(core);
    assert!(job.outcome(PATIENCE).await.unwrap().unwrap().is_completed());
}

async fn a_process_that_ends_gives_its_jobs_back(bench: Bench) {
    let core = bench.core(|options| {
        options.owns_process = true;
        options.kill_after = Duration::from_millis(1);
        options.max_hung = Some(1_000);
    });
    let hangs = leaseq_jobs::NewJob::new(Echo::named("hangs")).timeout(Duration::from_millis(1));
    let hangs = bench.producer().enqueue(hangs).await.unwrap();
    let first = start(&core).await;
    let busy = bench.add("busy").await;
    let second = start(&core).await;
    soon(first.killed()).await;
    ends_without(&core).await;
    assert_eq!(core.exit().running, 0);
    let item = bench.get(&hangs).await;
    assert_eq!((item.state, item.failures), (State::Delayed, 1));
    let item = bench.get(&busy).await;
    assert_eq!((item.state, item.failures), (State::Delayed, 0));
    assert_eq!(item.releases.unwrap().reason, "shutdown");
    // What a handler still reports comes too late.
    let late = core.finish(&second, Finish::Done { result: None }).await.unwrap();
    assert_eq!(late, Settled::Lost);
}

async fn a_drain_at_any_moment_strands_nothing(bench: Bench) {
    let seen = Seen::default();
    for round in 0..30 {
        for _ in 0..5 {
            bench.add("a").await;
        }
        let core = bench.core(|options| options.slots = 3);
        let run = async {
            while let leaseq_jobs::JobStart::Start(task) = core.next().await {
                tokio::task::yield_now().await;
                drop(core.finish(&task, Finish::Done { result: None }));
                seen.push("done");
            }
        };
        let end = async {
            tokio::time::sleep(Duration::from_micros(round * 100)).await;
            core.drain(LONG);
        };
        soon(async { tokio::join!(run, end) }).await;
        // The client gives back what a call has obtained that the drain has interrupted.
        let none_leased = async || bench.counts().await.leased == 0;
        assert!(eventually(PATIENCE, none_leased).await, "round {round}");
    }
    let counts = bench.counts().await;
    assert_eq!(counts.completed as usize, seen.take().len());
    assert_eq!(counts.completed + counts.ready, 150);
    assert_eq!((counts.totals.failed, counts.totals.expired), (0, 0));
}

async fn a_dropped_run_lets_leases_expire(bench: Bench) {
    let job = bench.add("a").await;
    let worker = bench.worker().lease(Duration::from_millis(500)).handle(
        |_: Echo, job: Context| async move {
            match job.attempt() {
                1 => std::future::pending().await,
                _ => Ok(()),
            }
        },
    );
    let seen = tokio::time::timeout(Duration::from_millis(300), worker.run()).await;
    assert!(seen.is_err(), "the handler waits");
    let ended = async { _ = job.outcome(PATIENCE).await };
    soon(worker.run_until(ended)).await.unwrap();
    assert_eq!(bench.get(&job).await.expiries, 1);
}
