//! Target 2: the Rust client in batches beside what the server's own time allows.
//! Target 3 for Rust: single calls, 100 at once, beside batches, on runtimes of one and of two threads;
//! and what the CPU time of client and server would allow on two cores, if none of them ever waited.

use std::time::Instant;

use leaseq::{Client, Item, WorkQueue};
use leaseq_test_support::cpu_time;
use tokio::runtime::Runtime;

use crate::Scale;
use crate::report::{Bound, Report, Scene};
use crate::setup::{BATCH, DATA, Setup, at_once, batch, median};

/// Tasks that send batches at the same time, so that the server does not wait for the client.
const TASKS: usize = 4;
/// Tasks that make single calls at the same time.
const CALLERS: usize = 100;

pub(crate) fn measure(scale: Scale, report: &mut Report, one: &Runtime, many: &Runtime) {
    let setup = many.block_on(Setup::new());
    let client = one.block_on(Client::connect(&setup.server.url())).unwrap();
    let (mut shares, mut rates) = (vec![], vec![]);
    let (mut on_one, mut on_many) = (Singles::on(1.0), Singles::on(2.0));
    for round in 0..scale.rounds {
        setup.reset_stats();
        let begun = Instant::now();
        let cycles = many.block_on(batched(&setup, round, scale));
        let rate = cycles / begun.elapsed().as_secs_f64();
        let allowed = cycles / (setup.usec(&["evalsha", "eval"]) / 1e6);
        rates.push(rate);
        shares.push(rate / allowed);

        let name = format!("single-{round}");
        on_many.round(&setup, many, &setup.queue(&name), scale, rate);
        on_one.round(&setup, one, &client.queue(&name).unwrap(), scale, rate);
    }
    report.scene(Scene::redis(format!("{TASKS} × batches of {BATCH}")));
    let note = format!("{:.0} cycles/s, wall clock", median(rates));
    let what = "batches from Rust / what the server's time allows";
    report.target("2", what, median(shares), "×", (Bound::AtLeast, 0.8), note);
    report.scene(Scene::redis(format!("{CALLERS} at once, on a runtime of one thread")));
    on_one.tell(report);
    report.scene(Scene::redis(format!("{CALLERS} at once, on a runtime of two threads")));
    on_many.tell(report);

    report.scene(Scene::redis("one at a time"));
    let one = many.block_on(one_at_a_time(&setup.queue("one"), scale));
    let raw = many.block_on(raw_round_trips(&setup, scale));
    let note = format!("raw round trips (PING) {raw:.0}/s by the same client library");
    report.info("4", "single calls from Rust, one after the other", one, "calls/s", note);
}

/// The rounds of single calls on one runtime.
#[derive(Default)]
struct Singles {
    threads: f64,
    /// Items a second.
    adds: Vec<f64>,
    processes: Vec<f64>,
    /// Of the rate of batches.
    shares: Vec<f64>,
    bounds: Vec<f64>,
    /// CPU time of a cycle, in µs.
    clients: Vec<f64>,
    servers: Vec<f64>,
}

impl Singles {
    fn on(threads: f64) -> Self {
        Singles { threads, ..Singles::default() }
    }

    /// `batches`: cycles a second in batches.
    fn round(
        &mut self,
        setup: &Setup,
        runtime: &Runtime,
        queue: &WorkQueue,
        scale: Scale,
        batches: f64,
    ) {
        let before = cpu(setup);
        let (add, process) = runtime.block_on(singly(queue, scale));
        let after = cpu(setup);
        self.adds.push(add);
        self.processes.push(process);
        self.shares.push(1.0 / (1.0 / add + 1.0 / process) / batches);
        let [client, server] = [0, 1].map(|i| (after[i] - before[i]) / items(scale));
        self.clients.push(client);
        self.servers.push(server);
        // The server works on one core, the client on as many as its runtime has threads.
        let least = server.max((client + server) / 2.0).max(client / self.threads);
        self.bounds.push(1e6 / least / batches);
    }

    fn tell(self, report: &mut Report) {
        let (adds, processes) = (median(self.adds), median(self.processes));
        let note = format!("add {adds:.0}/s, lease and complete {processes:.0}/s");
        let what = "single calls from Rust, 100 at once / batches";
        report.target("3", what, median(self.shares), "×", (Bound::AtLeast, 0.5), note);
        let (client, server) = (median(self.clients), median(self.servers));
        let note = format!("CPU time of a cycle: client {client:.1} µs, server {server:.1} µs");
        let what = "what two cores that never wait would allow / batches";
        report.info("3", what, median(self.bounds), "×", note);
    }
}

/// CPU time that this process and the server have used so far, in µs.
fn cpu(setup: &Setup) -> [f64; 2] {
    [cpu_time(std::process::id()).as_secs_f64() * 1e6, setup.cpu()]
}

/// Cycles of a round of single calls.
fn items(scale: Scale) -> f64 {
    (scale.batches * BATCH / CALLERS * CALLERS) as f64
}

async fn batched(setup: &Setup, round: usize, scale: Scale) -> f64 {
    let each = scale.batches / TASKS + 1;
    let tasks = (0..TASKS).map(|task| {
        let queue = setup.queue(&format!("batch-{round}-{task}"));
        tokio::spawn(async move {
            for _ in 0..each {
                queue.add_items(batch()).await.unwrap();
                let leases = queue.lease_many(BATCH, at_once()).await.unwrap();
                let completed = queue.complete_many(&leases).await.unwrap();
                assert_eq!(completed, [true; BATCH]);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    (each * TASKS * BATCH) as f64
}

/// Adds a second, and items processed a second.
async fn singly(queue: &WorkQueue, scale: Scale) -> (f64, f64) {
    let total = items(scale);
    let each = total as usize / CALLERS;
    let run = |process: bool| {
        let tasks: Vec<_> = (0..CALLERS)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move {
                    for _ in 0..each {
                        if process {
                            let lease = queue.lease(at_once()).await.unwrap().unwrap();
                            assert!(queue.complete(&lease).await.unwrap());
                        } else {
                            assert!(queue.add_item(Item::new([b'x'; DATA])).await.unwrap());
                        }
                    }
                })
            })
            .collect();
        async move {
            let begun = Instant::now();
            for task in tasks {
                task.await.unwrap();
            }
            total / begun.elapsed().as_secs_f64()
        }
    };
    (run(false).await, run(true).await)
}

async fn one_at_a_time(queue: &WorkQueue, scale: Scale) -> f64 {
    let begun = Instant::now();
    let cycles = scale.batches * 5;
    for _ in 0..cycles {
        queue.add_item(Item::new([b'x'; DATA])).await.unwrap();
        let lease = queue.lease(at_once()).await.unwrap().unwrap();
        assert!(queue.complete(&lease).await.unwrap());
    }
    3.0 * cycles as f64 / begun.elapsed().as_secs_f64()
}

async fn raw_round_trips(setup: &Setup, scale: Scale) -> f64 {
    let client = redis::Client::open(setup.server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let begun = Instant::now();
    let trips = scale.batches * 15;
    for _ in 0..trips {
        redis::cmd("PING").exec_async(&mut connection).await.unwrap();
    }
    trips as f64 / begun.elapsed().as_secs_f64()
}
