//! The figures that this project promises, each beside its limit, measured in one run on one
//! machine against a private server. Ratios count; absolute figures describe the machine.
//!
//! `--quick` runs everything once and small, to see that it works; `--json FILE` writes the
//! figures to a file as well.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark may stop")]

mod cleaning;
mod depth;
mod latency;
mod report;
mod server_time;
mod setup;
mod throughput;

use report::Report;

/// How much to measure.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// Rounds of each comparison; the median counts.
    rounds: usize,
    /// Batches of 100 in a round.
    batches: usize,
    /// Samples of a latency.
    samples: usize,
    /// Items queued in a deep queue.
    deep: usize,
    /// Live leases that a light clean must not look at.
    leases: usize,
}

const FULL: Scale =
    Scale { rounds: 9, batches: 200, samples: 1_000, deep: 1_000_000, leases: 100_000 };
const QUICK: Scale = Scale { rounds: 1, batches: 5, samples: 10, deep: 10_000, leases: 2_000 };

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let json = arguments.iter().position(|argument| argument == "--json");
    let json = json.and_then(|i| arguments.get(i + 1));
    let scale = if quick { QUICK } else { FULL };

    let mut report = Report::new(quick);
    server_time::measure(scale, &mut report).await;
    throughput::measure(scale, &mut report).await;
    latency::measure(scale, &mut report).await;
    depth::measure(scale, &mut report).await;
    cleaning::measure(scale, &mut report).await;
    report.print();
    if let Some(path) = json {
        report.write(path);
    }
}
