//! Target 3 for Rust: single calls, 100 at once, beside batches, on runtimes of one and of two threads.
//!
//! The target compares like with like: the same items are added to one queue and then leased and
//! completed, in the same process. That is how the peers are measured as well. Beside it stand
//! callers that add, lease and complete their items by turns, so that the queue stays short, and the
//! fastest batches, those of target 2, which do the same on queues of their own; and what the CPU time
//! of client and server would allow then on two cores, if none of them ever waited.

use std::time::Duration;

use leaseq::{Client, WorkQueue};
use leaseq_test_support::cpu_time;
use tokio::runtime::Runtime;

use crate::Scale;
use crate::load::{Calls, MANY, by_turns};
use crate::report::{Bound, Report, Scene};
use crate::setup::{BATCH, DATA, Setup, median};
use crate::throughput::{TASKS, batched};

const BATCHES: Calls = Calls { at_once: TASKS, items: BATCH };

pub(crate) fn measure(scale: Scale, report: &mut Report, one: &Runtime, many: &Runtime) {
    let setup = many.block_on(Setup::new());
    let client = one.block_on(Client::connect(&setup.server.url())).unwrap();
    let mut runtimes = [
        (one, &client, Figures { threads: 1.0, ..Figures::default() }),
        (many, &setup.client, Figures { threads: 2.0, ..Figures::default() }),
    ];
    for round in 0..scale.rounds {
        let (cycles, time) = many.block_on(batched(&setup, round, scale));
        let fastest = cycles / time.as_secs_f64();
        for (runtime, client, figures) in &mut runtimes {
            let queue =
                |what: &str| client.queue(&format!("{what}-{round}-{}", figures.threads)).unwrap();
            let (singly, batches, by_turns) = (queue("singly"), queue("batches"), queue("turns"));
            runtime.block_on(figures.like_with_like(&singly, &batches, scale));
            runtime.block_on(figures.by_turns(&setup, &by_turns, scale, fastest));
        }
    }
    for (_, _, figures) in runtimes {
        let threads = if figures.threads == 1.0 { "one thread" } else { "two threads" };
        let scene = format!("{} at once, on a runtime of {threads}", MANY.at_once);
        report.scene(Scene::redis(scene));
        figures.tell(report, scale);
    }
}

/// What the rounds on one runtime gave.
#[derive(Default)]
struct Figures {
    threads: f64,
    /// Items a second.
    adds: Vec<f64>,
    processes: Vec<f64>,
    /// Cycles a second: in batches on the same queue, and as a share of that.
    batches: Vec<f64>,
    shares: Vec<f64>,
    /// By turns, as a share of the fastest batches, and what two cores would allow.
    by_turns: Vec<f64>,
    bounds: Vec<f64>,
    /// CPU time of a cycle by turns, in µs.
    clients: Vec<f64>,
    servers: Vec<f64>,
}

impl Figures {
    async fn like_with_like(&mut self, singly: &WorkQueue, batches: &WorkQueue, scale: Scale) {
        let items = items(scale);
        let rate = |time: Duration| items as f64 / time.as_secs_f64();
        let (add, process) = added_and_processed(BATCHES, batches, items).await;
        let batches = add + process;
        let (add, process) = added_and_processed(MANY, singly, items).await;
        self.adds.push(rate(add));
        self.processes.push(rate(process));
        self.batches.push(rate(batches));
        self.shares.push(batches.as_secs_f64() / (add + process).as_secs_f64());
    }

    /// `fastest`: cycles a second of the fastest batches.
    async fn by_turns(&mut self, setup: &Setup, queue: &WorkQueue, scale: Scale, fastest: f64) {
        let before = cpu(setup);
        let time = by_turns(queue, items(scale) / MANY.at_once).await;
        let after = cpu(setup);
        let items = items(scale) as f64;
        self.by_turns.push(items / time.as_secs_f64() / fastest);
        let [client, server] = [0, 1].map(|i| (after[i] - before[i]) / items);
        self.clients.push(client);
        self.servers.push(server);
        // The server works on one core, the client on as many as its runtime has threads.
        let least = server.max((client + server) / 2.0).max(client / self.threads);
        self.bounds.push(1e6 / least / fastest);
    }

    fn tell(self, report: &mut Report, scale: Scale) {
        let (adds, processes) = (median(self.adds), median(self.processes));
        let note = format!(
            "{} items on one queue, added: {adds:.0}/s, then leased and completed: {processes:.0}/s; \
             {TASKS} × batches of {BATCH}: {:.0} cycles/s",
            items(scale),
            median(self.batches)
        );
        let what = "single calls from Rust, 100 at once / batches";
        report.target("3", what, median(self.shares), "×", (Bound::AtLeast, 0.5), note);

        let note =
            "each caller adds, leases and completes by turns, beside the batches of target 2";
        let what = "the same by turns / the fastest batches";
        report.info("3", what, median(self.by_turns), "×", note);
        let (client, server) = (median(self.clients), median(self.servers));
        let note = format!("CPU time of a cycle: client {client:.1} µs, server {server:.1} µs");
        let what = "what two cores that never wait would allow of those";
        report.info("3", what, median(self.bounds), "×", note);
    }
}

/// CPU time that this process and the server have used so far, in µs.
fn cpu(setup: &Setup) -> [f64; 2] {
    [cpu_time(std::process::id()).as_secs_f64() * 1e6, setup.cpu()]
}

/// Cycles of a round.
fn items(scale: Scale) -> usize {
    scale.batches * BATCH / MANY.at_once * MANY.at_once
}

/// How long adding took, and leasing and completing.
async fn added_and_processed(
    calls: Calls,
    queue: &WorkQueue,
    items: usize,
) -> (Duration, Duration) {
    let add = calls.add(queue, items, DATA).await;
    let (done, process) = calls.process(queue).await;
    assert_eq!(done, items);
    (add, process)
}
