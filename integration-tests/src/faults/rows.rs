//! A row of the table: one fault on one engine, in rounds, until its time is over or one fails.

use std::time::{Duration, Instant};

use super::fault::Fault;
use super::place::is_private;
use super::report::Row;
use super::run;
use super::terms::{Report, Terms};

/// Longer runs consist of rounds, each with a queue, servers and a history of its own.
const ROUND: Duration = Duration::from_secs(20);

/// Runs rounds until the time is over or one fails.
pub(super) async fn play(fault: &'static Fault, engine: &'static str, terms: Terms) -> Row {
    let mut row = Row { fault: fault.name, engine, seed: terms.seed, ..Row::default() };
    let began = Instant::now();
    let mut left = terms.time;
    loop {
        let (time, seed) = (left.min(ROUND), terms.seed + row.rounds);
        let round = Terms { time, seed, languages: terms.languages.clone() };
        for report in play_round(fault, engine, &round).await {
            row.add(report);
        }
        row.rounds += 1;
        row.seconds = began.elapsed().as_secs_f64();
        left = left.saturating_sub(time);
        if row.is_over() || left.is_zero() {
            return row;
        }
    }
}

/// All languages on one queue. Where processes cannot share a queue, each language alone, concurrently.
async fn play_round(fault: &'static Fault, engine: &'static str, terms: &Terms) -> Vec<Report> {
    let parties: Vec<Terms> = if is_private(engine) {
        let alone = |language| Terms { languages: vec![language], ..terms.clone() };
        terms.languages.iter().cloned().map(alone).collect()
    } else {
        vec![terms.clone()]
    };
    let play = |terms: Terms| {
        let theirs = terms.clone();
        (terms, tokio::spawn(async move { run::play(fault, engine, &theirs).await }))
    };
    let playing: Vec<_> = parties.into_iter().map(play).collect();
    let mut reports = Vec::new();
    for (terms, playing) in playing {
        // Servers that do not start cause a panic.
        let report = playing.await.unwrap_or_else(|panic| Err(panic.into()));
        let report = report.unwrap_or_else(|error| Report {
            faults: vec![format!("did not come to an end: {error}")],
            ..Report::default()
        });
        for wrong in &report.faults {
            eprintln!("FAILED: {} on {engine}, seed {}: {wrong}", fault.name, terms.seed);
        }
        if !report.faults.is_empty() {
            eprintln!("again: {}", again(fault, engine, &terms));
        }
        reports.push(report);
    }
    // It is an error only if no language can do what the fault needs.
    if reports.iter().any(|report| report.skipped.is_none()) {
        reports.retain(|report| report.skipped.is_none());
    }
    reports
}

/// The command that makes the same choices again.
fn again(fault: &Fault, engine: &str, terms: &Terms) -> String {
    let languages: Vec<_> = terms.languages.iter().map(|one| one.name.as_str()).collect();
    format!(
        "make faults FAULT_SECONDS={} FAULTS='--only \"{}\" --engine {engine} --language {} --seed {}'",
        terms.time.as_secs(),
        fault.name,
        languages.join(","),
        terms.seed
    )
}
