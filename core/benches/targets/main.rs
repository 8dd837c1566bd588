//! The figures that this project promises, each beside its limit, measured in one run on one
//! machine against a private server. Ratios count; absolute figures describe the machine.
//!
//! `--quick` runs everything once and small, to see that it works; `--json FILE` writes the
//! figures to a file as well, `--only PART` measures one part, one of `PARTS`. `--instructions` counts the
//! server's instructions instead, with callgrind: of all kinds of items, or of those that are named behind it (`held`: of items that are held before).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark may stop")]

mod bare;
mod cleaning;
mod coalescing;
mod cycles;
mod depth;
mod embedded;
mod extended;
mod instructions;
mod latency;
mod limits;
mod load;
mod memory;
mod network;
mod outcomes;
mod plain;
mod processes;
mod rates;
mod raw;
mod report;
mod server_time;
mod setup;
mod startup;
mod throughput;
mod worker;

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

/// The targets first, then scenarios that say more.
const PARTS: [&str; 15] = [
    "server",
    "extended",
    "limits",
    "throughput",
    "coalescing",
    "memory",
    "latency",
    "outcomes",
    "depth",
    "cleaning",
    "embedded",
    "rates",
    "processes",
    "network",
    "startup",
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let place = |name: &str| arguments.iter().position(|argument| argument == name);
    let value = |name: &str| place(name).and_then(|i| arguments.get(i + 1));
    // Where the server's time is measured, the client has one thread, as that for the raw commands:
    // else its threads take the server's core away, and what is measured is that.
    let one = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let many =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    if let Some(i) = place("--worker") {
        let runtime = if place("--one-thread").is_some() { &one } else { &many };
        return runtime.block_on(worker::run(&arguments[i + 1..]));
    }

    if place("--instructions").is_some() {
        let only = value("--instructions").filter(|only| !only.starts_with('-'));
        return one.block_on(instructions::measure(only.map(String::as_str)));
    }

    let quick = place("--quick").is_some();
    let scale = if quick { QUICK } else { FULL };
    let mut report = Report::new(quick);
    let wanted = value("--only").map(String::as_str);
    assert!(wanted.is_none_or(|part| PARTS.contains(&part)), "--only takes one of {PARTS:?}");
    for part in PARTS.into_iter().filter(|part| wanted.is_none_or(|wanted| wanted == *part)) {
        let report = &mut report;
        match part {
            "server" => one.block_on(server_time::measure(scale, report)),
            "extended" => one.block_on(extended::measure(scale, report)),
            "limits" => many.block_on(limits::measure(scale, report)),
            "throughput" => many.block_on(throughput::measure(scale, report)),
            "coalescing" => coalescing::measure(scale, report, &one, &many),
            "memory" => one.block_on(memory::measure(scale, report)),
            "latency" => many.block_on(latency::measure(scale, report)),
            "outcomes" => many.block_on(outcomes::measure(scale, report)),
            "depth" => one.block_on(depth::measure(scale, report)),
            "cleaning" => one.block_on(cleaning::measure(scale, report)),
            "embedded" => many.block_on(embedded::measure(scale, report)),
            "rates" => many.block_on(rates::measure(scale, report)),
            "processes" => many.block_on(processes::measure(scale, report)),
            "network" => many.block_on(network::measure(scale, report)),
            _ => many.block_on(startup::measure(scale, report)),
        }
    }
    report.print();
    if let Some(path) = value("--json") {
        report.write(path);
    }
}
