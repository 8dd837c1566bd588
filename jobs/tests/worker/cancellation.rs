//! Cancelling jobs, and lost leases.

use std::time::Duration;

use leaseq::{Outcome, State};
use leaseq_jobs::{Finish, JobError, Reason, Settled};
use leaseq_test_support::eventually;

use crate::support::{Bench, Echo, PATIENCE, on_every_engine, soon, start};

on_every_engine!(
    a_cancellation_arrives_while_all_slots_are_busy,
    one_receiver_hears_of_every_task_that_is_to_stop,
    a_job_that_succeeds_although_it_is_cancelled_is_completed,
    a_lost_lease_cancels_the_task,
    a_handler_that_ignores_its_cancellation_is_dropped,
);

async fn a_cancellation_arrives_while_all_slots_are_busy(bench: Bench) {
    let core = bench.core(|options| options.slots = 2);
    let jobs = [bench.add("a").await, bench.add("b").await];
    let tasks = [start(&core).await, start(&core).await];
    for job in &jobs {
        assert!(job.cancel().await.unwrap());
    }
    for task in &tasks {
        assert_eq!(soon(task.cancelled()).await, Reason::User);
    }
    let stopped = soon(core.finish(&tasks[0], Finish::Cancelled)).await.unwrap();
    assert_eq!(stopped, Settled::Cancelled);
    let failed = Finish::Failed(JobError::new("Stopped", ""));
    assert_eq!(soon(core.finish(&tasks[1], failed)).await.unwrap(), Settled::Cancelled);
    for job in &jobs {
        assert_eq!(job.outcome(PATIENCE).await.unwrap(), Some(Outcome::Cancelled));
    }
}

async fn one_receiver_hears_of_every_task_that_is_to_stop(bench: Bench) {
    let core = bench.core(|options| {
        options.slots = 3;
        options.lease = Duration::from_millis(400);
    });
    let mut stops = core.stops();
    let user = bench.add("user").await;
    let cancelled = start(&core).await;
    let removed = bench.add("lost").await;
    let lost = start(&core).await;
    bench.add("shutdown").await;
    let interrupted = start(&core).await;
    user.cancel().await.unwrap();
    assert_eq!(soon(stops.recv()).await, Some((cancelled.number(), Reason::User)));
    removed.queue().remove(removed.id()).await.unwrap();
    assert_eq!(soon(stops.recv()).await, Some((lost.number(), Reason::Lost)));
    for task in [&cancelled, &lost] {
        soon(core.finish(task, Finish::Cancelled)).await.unwrap();
    }
    core.drain(Duration::ZERO);
    assert_eq!(soon(stops.recv()).await, Some((interrupted.number(), Reason::Shutdown)));
    soon(core.finish(&interrupted, Finish::Cancelled)).await.unwrap();
    // Who comes later hears nothing.
    assert_eq!(core.stops().recv().await, None);
}

async fn a_job_that_succeeds_although_it_is_cancelled_is_completed(bench: Bench) {
    let core = bench.core(|_| {});
    let job = bench.add("a").await;
    let task = start(&core).await;
    job.cancel().await.unwrap();
    soon(task.cancelled()).await;
    let settled = soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
    assert_eq!(settled, Settled::Completed);
    assert_eq!(bench.get(&job).await.state, State::Completed);
}

async fn a_lost_lease_cancels_the_task(bench: Bench) {
    let core = bench.core(|options| options.lease = Duration::from_millis(400));
    let job = bench.add("a").await;
    let task = start(&core).await;
    job.queue().remove(job.id()).await.unwrap();
    assert_eq!(soon(task.cancelled()).await, Reason::Lost);
    let failed = Finish::Failed(JobError::new("Late", ""));
    assert_eq!(soon(core.finish(&task, failed)).await.unwrap(), Settled::Lost);
}

async fn a_handler_that_ignores_its_cancellation_is_dropped(bench: Bench) {
    let job = bench.add("a").await;
    let worker = bench
        .worker()
        .kill_after(Duration::from_millis(100))
        .handle(|_: Echo, _| std::future::pending::<Result<(), JobError>>());
    let cancelled = async {
        let running = async || job.queue().counts().await.unwrap().leased == 1;
        assert!(eventually(PATIENCE, running).await, "it runs");
        assert!(job.cancel().await.unwrap());
        assert_eq!(job.outcome(PATIENCE).await.unwrap(), Some(Outcome::Cancelled));
    };
    let exit = soon(worker.grace(PATIENCE).run_until(cancelled)).await.unwrap();
    assert_eq!((exit.started, exit.running), (1, 0));
}
