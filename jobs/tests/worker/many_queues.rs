//! A worker with many queues: what they cost, and that all are looked after.

use std::time::Duration;

use leaseq::{Client, Schedule, ScheduleRule};
use leaseq_jobs::{
    Finish, Job, NewJob, Order, Producer, QueueOptions, Settled, WorkerCore, WorkerOptions,
};
use leaseq_test_support::{Proxy, RedisServer, eventually};
use serde_json::json;

use crate::support::{Bench, Echo, PATIENCE, drained, on_every_engine, soon, start};

on_every_engine!(
    schedules_tick_while_all_slots_are_busy,
    schedules_tick_while_a_queue_has_jobs_that_cannot_start,
    a_busy_worker_leaves_jobs_to_others,
    jobs_of_any_queue_are_found,
    a_burst_finds_what_its_jobs_have_added,
);

const QUEUES: usize = 100;

pub(crate) fn name(i: usize) -> String {
    format!("q{i}")
}

fn hundred(options: &mut WorkerOptions, slots: usize) {
    options.queues = (0..QUEUES).map(|i| QueueOptions::new(name(i))).collect();
    options.slots = slots;
}

pub(crate) async fn add(client: &Client, queue: &str, count: usize) {
    let new = |_| NewJob::named(Echo::NAME, queue, &json!({ "text": queue }));
    Producer::new(client).enqueue_many((0..count).map(new)).await.unwrap();
}

pub(crate) async fn done(core: &WorkerCore, task: &leaseq_jobs::Task) {
    let settled = soon(core.finish(task, Finish::Done { result: None })).await.unwrap();
    assert_eq!(settled, Settled::Completed);
}

/// Runs so many jobs, one after the other.
pub(crate) async fn run(core: &WorkerCore, jobs: usize) {
    for _ in 0..jobs {
        let task = start(core).await;
        done(core, &task).await;
    }
}

/// 99 queues are empty: neither a queue that has jobs nor one that gets one now and then makes the worker ask them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_completion_asks_few_of_many_queues() {
    let server = tokio::task::spawn_blocking(RedisServer::start).await.unwrap();
    let proxy = Proxy::start(server.port()).await;
    let client = Client::connect(&proxy.url()).await.unwrap();
    let producer = Client::connect(&server.url()).await.unwrap();
    for order in [Order::Weighted, Order::Strict] {
        let mut options = WorkerOptions::new();
        hundred(&mut options, 1);
        options.order = order;
        options.jobs.insert(Echo::NAME.to_owned(), Echo::options());
        let core = WorkerCore::start(&client, options).unwrap();
        // In strict order the first four are asked whenever a slot is free, and the completion goes by itself.
        let each = if order == Order::Strict { 6 } else { 1 };
        // It gets to know that the others are empty.
        add(&producer, &name(70), 1).await;
        run(&core, 1).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = proxy.commands();
        add(&producer, &name(70), 200).await;
        run(&core, 200).await;
        let steady = proxy.commands() - before;
        tokio::time::sleep(Duration::from_millis(200)).await;
        let before = proxy.commands();
        for i in 0..50 {
            add(&producer, &name(i), 1).await;
            run(&core, 1).await;
        }
        let sparse = proxy.commands() - before;
        println!(
            "{order:?}: {steady} commands for 200 jobs of a queue, {sparse} for 50 of 50 queues"
        );
        assert!(steady <= 200 * each + 60, "{order:?}: {steady} commands for 200 jobs");
        assert!(sparse <= 50 * (each + 14), "{order:?}: {sparse} commands for 50 jobs");
        core.drain(Duration::ZERO);
        drained(&core).await;
    }
}

async fn often(bench: &Bench, queue: &str) {
    let job = json!({ "v": 1, "job": Echo::NAME, "args": { "text": "tick" } }).to_string();
    let rule = ScheduleRule::every(Duration::from_millis(200)).unwrap();
    let schedule = Schedule::new("often", rule, leaseq::Item::new(job)).overlap();
    bench.client.queue(queue).unwrap().put_schedule(schedule).await.unwrap();
}

async fn ready(bench: &Bench, queue: &str) -> u64 {
    bench.client.queue(queue).unwrap().counts().await.unwrap().ready
}

async fn schedules_tick_while_all_slots_are_busy(bench: Bench) {
    let core = bench.core(|options| {
        options.queues = vec![QueueOptions::new("busy"), QueueOptions::new("ticks")];
        options.slots = 1;
    });
    add(&bench.client, "busy", 1).await;
    let task = start(&core).await;
    often(&bench, "ticks").await;
    let ticked = eventually(PATIENCE, async || ready(&bench, "ticks").await >= 3).await;
    assert!(ticked, "{} ticks", ready(&bench, "ticks").await);
    done(&core, &task).await;
}

/// Nothing is asked of a queue that has jobs, and no call waits on it.
async fn schedules_tick_while_a_queue_has_jobs_that_cannot_start(bench: Bench) {
    let core = bench.core(|options| {
        options.queues = vec![QueueOptions::new("busy")];
        options.slots = 1;
    });
    add(&bench.client, "busy", 5).await;
    let task = start(&core).await;
    often(&bench, "busy").await;
    let ticked = eventually(PATIENCE, async || ready(&bench, "busy").await >= 7).await;
    assert!(ticked, "{} ready", ready(&bench, "busy").await);
    done(&core, &task).await;
}

/// It hears of jobs that it cannot run, and takes none of them from a worker that can.
async fn a_busy_worker_leaves_jobs_to_others(bench: Bench) {
    let worker = |slots| bench.core(|options| hundred(options, slots));
    let busy = worker(1);
    add(&bench.client, &name(0), 1).await;
    let task = start(&busy).await;
    let other = worker(2);
    for i in 1..QUEUES {
        add(&bench.client, &name(i), 1).await;
        let task = start(&other).await;
        assert_eq!((task.queue(), task.attempt()), (name(i).as_str(), 1));
        done(&other, &task).await;
    }
    done(&busy, &task).await;
}

async fn jobs_of_any_queue_are_found(bench: Bench) {
    let core = bench.core(|options| hundred(options, 2));
    // While it is busy, and while it is idle.
    add(&bench.client, &name(5), 2).await;
    let tasks = [start(&core).await, start(&core).await];
    for i in 0..QUEUES {
        add(&bench.client, &name(i), 1).await;
    }
    for task in &tasks {
        done(&core, task).await;
    }
    run(&core, QUEUES).await;
    for i in (0..QUEUES).rev().step_by(9) {
        add(&bench.client, &name(i), 3).await;
        run(&core, 3).await;
    }
    assert_eq!(core.load().started as usize, 2 + QUEUES + 12 * 3);
}

async fn a_burst_finds_what_its_jobs_have_added(bench: Bench) {
    add(&bench.client, &name(99), 1).await;
    let core = bench.core(|options| {
        hundred(options, 1);
        options.burst = true;
    });
    for (i, next) in [(99, Some(0)), (0, Some(99)), (99, Some(50)), (50, None)] {
        let task = start(&core).await;
        assert_eq!(task.queue(), name(i));
        if let Some(next) = next {
            add(&bench.client, &name(next), 1).await;
        }
        done(&core, &task).await;
    }
    assert_eq!(drained(&core).await.started, 4);
}

/// Each task adds a job to the queue that was found empty last, just before it ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_never_ends_before_a_job_that_was_added() {
    let bench = Bench::in_memory().await;
    for round in 0..100 {
        let names = ["a", "b", "c"].map(|name| format!("{name}{round}"));
        add(&bench.client, &names[0], 1).await;
        let core = bench.core(|options| {
            options.queues = names.iter().map(QueueOptions::new).collect();
            options.burst = true;
        });
        for i in 0..6 {
            let task = start(&core).await;
            if i < 5 {
                add(&bench.client, &names[(i + 1) % 3], 1).await;
            }
            drop(core.finish(&task, Finish::Done { result: None }));
        }
        assert_eq!(drained(&core).await.started, 6, "round {round}");
    }
}
