//! Workers in the registry, and commands for them. Beats are 10 s apart, so few tests wait for one.

use std::time::Duration;

use leaseq::{HistoryKind, Outcome, WorkerAction, WorkerInfo, WorkersOptions};
use leaseq_jobs::{
    ExitReason, Finish, Job, JobStart, Producer, QueueOptions, Reason, Settled, WorkerCore,
    WorkerOptions,
};
use leaseq_test_support::eventually;

use crate::support::{
    Bench, Echo, PATIENCE, drained, nothing, on_every_engine, soon, start, with_clock,
};

on_every_engine!(
    a_worker_is_listed_until_it_ends,
    a_worker_reports_what_it_has_measured,
    a_worker_records_queues_in_which_nothing_happens,
    a_quiet_worker_leases_nothing,
    commands_are_obeyed
);

async fn listed(bench: &Bench) -> Vec<WorkerInfo> {
    bench.client.workers(WorkersOptions::new()).await.unwrap().workers
}

async fn a_worker_is_listed_until_it_ends(bench: Bench) {
    let core = bench.core(|options| {
        options.name = Some("mine".into());
        options.slots = 3;
    });
    assert!(eventually(PATIENCE, async || !listed(&bench).await.is_empty()).await);
    let [worker] = &listed(&bench).await[..] else { panic!("not one worker") };
    assert_eq!((worker.beat.worker.name(), worker.beat.slots), ("mine", 3));
    assert_eq!((&worker.beat.queues[..], worker.quiet), (&["echo".to_owned()][..], false));
    assert!(worker.beat.memory.unwrap() > 1 << 20, "{:?}", worker.beat.memory);
    core.drain(Duration::ZERO);
    drained(&core).await;
    soon(core.left()).await;
    assert!(listed(&bench).await.is_empty());
}

async fn a_worker_reports_what_it_has_measured(bench: Bench) {
    let core = bench.core(|_| {});
    bench.add("a").await;
    let task = start(&core).await;
    soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
    core.drain(Duration::ZERO);
    drained(&core).await;
    soon(core.left()).await;
    let queue = bench.client.queue("echo").unwrap();
    let rows = queue.history(HistoryKind::Hours).await.unwrap();
    let measured = rows.iter().map(|row| row.measured.run.count()).sum::<u64>();
    assert_eq!(measured, 1, "{rows:?}");
    let used = rows.iter().map(|row| row.measured.lease_use.count()).sum::<u64>();
    assert_eq!(used, 1);
    let waited = rows.iter().map(|row| row.measured.waiting.count()).sum::<u64>();
    assert_eq!(waited, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_measures_how_long_jobs_have_waited() {
    let (client, advance) = with_clock().await;
    let hour = Duration::from_secs(3_600);
    for name in ["first", "second"] {
        Producer::new(&client).enqueue(Echo::named(name)).await.unwrap();
        advance(hour);
    }
    let mut options = WorkerOptions::new();
    options.queues = vec![QueueOptions::new(Echo::QUEUE)];
    options.slots = 1;
    options.prefetch = 1;
    options.jobs.insert(Echo::NAME.to_owned(), Echo::options());
    let core = WorkerCore::start(&client, options).unwrap();
    for waited in [2 * hour, hour] {
        let task = start(&core).await;
        // The second one was leased at once, and has waited here, too.
        assert!(task.waited() >= waited && task.waited() < waited + PATIENCE);
        soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
    }
    core.drain(Duration::ZERO);
    drained(&core).await;
    soon(core.left()).await;
    let rows = client.queue(Echo::QUEUE).unwrap().history(HistoryKind::Hours).await.unwrap();
    let waiting = &rows[0].measured.waiting;
    for (part, exact) in [(0.5, hour), (1.0, 2 * hour)] {
        let read = Duration::from_micros(waiting.quantile(part).unwrap());
        assert!(read.abs_diff(exact) <= exact / 10, "{part}: {read:?}");
    }
}

async fn a_worker_records_queues_in_which_nothing_happens(bench: Bench) {
    let queue = bench.client.queue("echo").unwrap();
    queue.add_item(leaseq::Item::new("later").delay(Duration::from_secs(3_600))).await.unwrap();
    let _core = bench.core(|_| {});
    // With its first beat.
    let rows = async || queue.history(HistoryKind::Minutes).await.unwrap();
    assert!(eventually(PATIENCE, async || !rows().await.is_empty()).await);
    let row = &rows().await[0];
    assert_eq!((row.delayed, row.totals.added, row.measured.is_empty()), (1, 1, true));
}

async fn a_quiet_worker_leases_nothing(bench: Bench) {
    bench.client.quiet_worker("mine").await.unwrap();
    bench.add("a").await;
    // A burst ends.
    let worker = bench.worker().name("mine").handle(nothing);
    assert_eq!(soon(worker.run_until_idle()).await.unwrap().status(), 3);
    let core = bench.core(|options| options.name = Some("mine".into()));
    let idle = tokio::time::timeout(Duration::from_millis(500), core.next()).await;
    assert!(idle.is_err(), "a quiet worker leases");
    bench.client.resume_worker("mine").await.unwrap();
    start(&core).await;
}

async fn commands_are_obeyed(bench: Bench) {
    let core = bench.core(|_| {});
    let job = bench.add("a").await;
    let task = start(&core).await;
    let id = listed(&bench).await[0].beat.worker.clone();
    let cancel = WorkerAction::Cancel { queue: task.queue().into(), id: task.id().to_vec().into() };
    for action in [cancel, WorkerAction::Stop] {
        assert!(bench.client.command_worker(&id, &action).await.unwrap());
    }
    assert_eq!(soon(task.cancelled()).await, Reason::User);
    // It was listed as running by the same beat.
    let running = listed(&bench).await[0].beat.running.clone();
    assert_eq!(running[0].id, task.id());
    // The next one says that the worker ends, and still has the job.
    let ends = async || listed(&bench).await[0].beat.draining;
    assert!(eventually(PATIENCE, ends).await, "it is draining");
    let settled = soon(core.finish(&task, Finish::Cancelled)).await.unwrap();
    assert_eq!(settled, Settled::Cancelled);
    assert_eq!(job.outcome(PATIENCE).await.unwrap(), Some(Outcome::Cancelled));
    assert!(matches!(soon(core.next()).await, JobStart::Drained));
    assert_eq!(core.exit().reason, ExitReason::Drained);
}
