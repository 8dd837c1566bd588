//! The figures that this project promises, each beside its limit, measured in one run on one
//! machine against a private server. Ratios count; absolute figures describe the machine.
//!
//! `--quick` runs everything once and small, to see that it works; `--json FILE` writes the
//! figures to a file as well, `--only PART` measures one part: server, throughput, latency, depth,
//! cleaning or embedded.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark may stop")]

mod cleaning;
mod depth;
mod embedded;
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

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name);
        place.and_then(|i| arguments.get(i + 1))
    };
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let scale = if quick { QUICK } else { FULL };
    // Where the server's time is measured, the client has one thread, as that for the raw commands:
    // else its threads take the server's core away, and what is measured is that.
    let one = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let many =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();

    let mut report = Report::new(quick);
    let wanted = value("--only").map(String::as_str);
    let on = |name: &str| wanted.is_none_or(|wanted| wanted == name);
    if on("server") {
        one.block_on(server_time::measure(scale, &mut report));
    }
    if on("throughput") {
        many.block_on(throughput::measure(scale, &mut report));
    }
    if on("latency") {
        many.block_on(latency::measure(scale, &mut report));
    }
    if on("depth") {
        one.block_on(depth::measure(scale, &mut report));
    }
    if on("cleaning") {
        one.block_on(cleaning::measure(scale, &mut report));
    }
    if on("embedded") {
        many.block_on(embedded::measure(scale, &mut report));
    }
    report.print();
    if let Some(path) = value("--json") {
        report.write(path);
    }
}
