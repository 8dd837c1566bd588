//! What the worker costs: a worker with 100 slots and handlers that do nothing, beside a loop that only leases and
//! completes, on the same server and by turns. Target 13 asks for at least 0.6. Beside it the same worker with chains of ten
//! jobs, each added by the end of the one before it: steps a second beside plain items, for which target 15 asks for
//! at least 0.3.
//!
//! `cargo bench --profile dist -p leaseq-jobs`, with `-- --quick` for a short run.

// A failed step must stop the measurement.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use leaseq::{Client, LeaseOptions};
use leaseq_jobs::{Context, Finish, Job, JobStart, NewJob, Producer, QueueOptions, Worker};
use leaseq_jobs::{WorkerCore, WorkerOptions};
use leaseq_test_support::RedisServer;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

const SLOTS: usize = 100;
/// In a chain.
const STEPS: usize = 10;

#[derive(Serialize, Deserialize)]
struct Nothing {
    text: String,
}

impl Job for Nothing {
    const NAME: &'static str = "bench.nothing";
    const QUEUE: &'static str = "bench";
}

/// As much data as the other measurements use, 100 bytes.
fn job() -> NewJob {
    NewJob::new(Nothing { text: "x".repeat(52) })
}

/// Each job is added when the one before it has succeeded.
fn chain() -> NewJob {
    job().then((1..STEPS).map(|_| job()))
}

#[tokio::main]
async fn main() {
    // `cargo test` runs it as well, in a debug build.
    let quick = std::env::args().any(|argument| argument == "--quick" || argument == "--test");
    let (count, rounds) = if quick || cfg!(debug_assertions) { (2_000, 1) } else { (100_000, 5) };
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    println!("{count} jobs, {SLOTS} slots, {rounds} rounds: jobs a second");
    let columns = ["batches", "single", "core", "worker", "chains"];
    println!(
        "{}  worker / batches, chains / single",
        columns.map(|name| format!("{name:>10}")).join(" ")
    );
    let mut ratios = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let rates = [
            measure(&client, count, job, batches(&client)).await,
            measure(&client, count, job, single(&client)).await,
            measure(&client, count, job, core(&client)).await,
            measure(&client, count, job, worker(&client)).await,
            STEPS as f64 * measure(&client, count / STEPS, chain, worker(&client)).await,
        ];
        let of_round = [rates[3] / rates[0], rates[4] / rates[1]];
        let shown = rates.map(|rate| format!("{rate:>10.0}")).join(" ");
        println!("{shown}  {:.2}, {:.2}", of_round[0], of_round[1]);
        ratios.iter_mut().zip(of_round).for_each(|(all, ratio)| all.push(ratio));
    }
    let [of_worker, of_chains] = ratios.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    });
    println!("medians: {of_worker:.2}, target 0.6; {of_chains:.2}, target 0.3");
}

/// Adds jobs, and returns how many a second were processed.
async fn measure(
    client: &Client,
    count: usize,
    new: fn() -> NewJob,
    process: impl Future<Output = ()>,
) -> f64 {
    let producer = Producer::new(client);
    producer.enqueue_many((0..count).map(|_| new())).await.unwrap();
    let begun = Instant::now();
    process.await;
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    assert_eq!(client.queue(Nothing::QUEUE).unwrap().queue_len().await.unwrap(), 0);
    rate
}

fn at_once() -> LeaseOptions {
    LeaseOptions::new(Duration::from_secs(30)).wait(Duration::ZERO)
}

/// Batches of as many jobs as there are slots, in a loop.
async fn batches(client: &Client) {
    let queue = client.queue(Nothing::QUEUE).unwrap();
    let mut leases = queue.lease_many(SLOTS, at_once()).await.unwrap();
    while !leases.is_empty() {
        leases = queue.complete_and_lease(&leases, SLOTS, at_once()).await.unwrap().leases;
    }
}

/// As many tasks as there are slots, each with one job.
async fn single(client: &Client) {
    let mut tasks = JoinSet::new();
    for _ in 0..SLOTS {
        let queue = client.queue(Nothing::QUEUE).unwrap();
        tasks.spawn(async move {
            let mut leases = queue.lease_many(1, at_once()).await.unwrap();
            while !leases.is_empty() {
                leases = queue.complete_and_lease(&leases, 1, at_once()).await.unwrap().leases;
            }
        });
    }
    tasks.join_all().await;
}

/// `next` and `finish` alone.
async fn core(client: &Client) {
    let mut options = WorkerOptions::new();
    options.queues = vec![QueueOptions::new(Nothing::QUEUE)];
    options.jobs.insert(Nothing::NAME.to_owned(), Nothing::options());
    options.slots = SLOTS;
    options.burst = true;
    let core = WorkerCore::start(client, options).unwrap();
    while let JobStart::Start(task) = core.next().await {
        drop(core.finish(&task, Finish::Done { result: None }));
    }
}

async fn worker(client: &Client) {
    let worker =
        Worker::new(client).slots(SLOTS).handle(|_: Nothing, _: Context| async move { Ok(()) });
    worker.run_until_idle().await.unwrap();
}
