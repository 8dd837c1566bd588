//! The printed report: each fault on each engine, the work done meanwhile, and the result.

use std::fmt::Write;

use super::terms::Report;

/// The results of one fault on one engine, in all rounds.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) fault: &'static str,
    pub(super) engine: &'static str,
    /// The seed of the first round; each further round has the next one.
    pub(super) seed: u64,
    pub(super) rounds: u64,
    pub(super) seconds: f64,
    pub(super) sum: Report,
}

impl Row {
    pub(super) fn add(&mut self, report: Report) {
        let sum = &mut self.sum;
        sum.adds += report.adds;
        sum.leases += report.leases;
        sum.completes += report.completes;
        sum.unknown += report.unknown;
        sum.extended += report.extended;
        sum.times += report.times;
        sum.excused += report.excused;
        sum.faults.extend(report.faults);
        sum.skipped = sum.skipped.take().or(report.skipped);
    }

    /// Whether further rounds are useless.
    pub(super) fn is_over(&self) -> bool {
        !self.sum.faults.is_empty() || self.sum.skipped.is_some()
    }

    fn result(&self) -> String {
        match (&self.sum.skipped, self.sum.faults.len()) {
            (Some(why), 0) => format!("SKIPPED: {why}"),
            (_, 0) => "passed".into(),
            (_, faults) => format!("FAILED: {faults}"),
        }
    }
}

/// The line for a finished row.
pub(super) fn line(row: &Row) -> String {
    let Row { fault, engine, seed, rounds, seconds, sum } = row;
    let result = row.result();
    let last = seed + rounds - 1;
    let seeds =
        if last == *seed { format!("seed {seed}") } else { format!("seeds {seed} to {last}") };
    format!(
        "{fault} on {engine}, rounds {rounds}, {seeds}, {seconds:.1} s, extended {}, broken {}, leases {}: {result}",
        sum.extended, sum.times, sum.leases
    )
}

/// The table and the counts.
pub(super) fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<26} {:<8} {:>6} {:>8} {:>7} {:>8} {:>8} {:>9} {:>8} {:>8} {:>7}  {}\n",
        "fault",
        "engine",
        "rounds",
        "extended",
        "broken",
        "adds",
        "leases",
        "completes",
        "unknown",
        "excused",
        "s",
        "result"
    );
    for row in rows {
        let sum = &row.sum;
        let _ = writeln!(
            text,
            "{:<26} {:<8} {:>6} {:>8} {:>7} {:>8} {:>8} {:>9} {:>8} {:>8} {:>7.1}  {}",
            row.fault,
            row.engine,
            row.rounds,
            sum.extended,
            sum.times,
            sum.adds,
            sum.leases,
            sum.completes,
            sum.unknown,
            sum.excused,
            row.seconds,
            row.result()
        );
    }
    let count = |wanted: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| wanted(row)).count();
    let failed = count(&|row| !row.sum.faults.is_empty());
    let skipped = count(&|row| row.sum.skipped.is_some());
    let passed = rows.len() - failed - skipped;
    text + &format!("{passed} passed, {failed} failed, {skipped} skipped")
}
