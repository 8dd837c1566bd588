//! `stats`: what has happened in a queue, from its history.

use std::time::{Duration, SystemTime};

use clap::Args;
use leaseq::{Histogram, HistoryKind, Totals, WorkQueue};
use leaseq_report::duration;
use serde_json::{Value, json};

use super::steps::{Known, Step, Steps, begin_with_an_hour};
use crate::failure::{Ended, Failure};
use crate::global::Shared;
use crate::output::Cell;
use crate::text::{exact_time, local_time, whole_ms};

/// How far the history of minutes goes back.
const MINUTES: Duration = Duration::from_secs(86_400);
/// How far that of hours does.
const HOURS: Duration = Duration::from_secs(31 * 86_400);
/// Steps to choose from, in minutes. A list should have about 24 rows.
const STEPS: [u64; 10] = [1, 5, 10, 15, 30, 60, 120, 360, 720, 1_440];
const ROWS: u64 = 24;

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    pub(crate) queue: String,
    /// How far to look back: up to 31d. Beyond 24h only whole hours are known
    #[arg(long, value_name = "DURATION", default_value = "6h", value_parser = duration::read)]
    since: Duration,
    /// The time of one row, at least 1m [default: so that there are about 24 rows]
    #[arg(long, value_name = "DURATION", value_parser = duration::read)]
    step: Option<Duration>,
}

pub(crate) async fn stats(shared: &Shared, args: StatsArgs) -> Ended {
    if args.since.is_zero() || args.since > HOURS {
        return Err(Failure::usage("--since is between 1m and 31d"));
    }
    let minute = Duration::from_secs(60);
    if args.step.is_some_and(|step| step < minute || step > args.since) {
        return Err(Failure::usage("--step is between 1m and --since"));
    }
    let queue = shared.existing(&args.queue).await?;
    let kind = if args.since <= MINUTES { HistoryKind::Minutes } else { HistoryKind::Hours };
    let step = args.step.unwrap_or_else(|| step_of(args.since));
    let now = SystemTime::now();
    let first = Step::number(now - args.since, step);
    let mut known = known(&queue, kind).await?;
    let mut is_new = known.first().is_none_or(|row| Step::number(row.at, step) >= first);
    if kind == HistoryKind::Minutes && is_new {
        let hours = self::known(&queue, HistoryKind::Hours).await?;
        let oldest = Step::number(now - MINUTES, step);
        is_new = !begin_with_an_hour(&mut known, hours, first, oldest, step);
    }
    known.push(Known::now(queue.counts().await?, now));
    let steps = Steps::new(&known, first, step);
    let Some(begun) = steps.begun else {
        let since = duration::show(args.since);
        return Err(Failure::no(format_args!(
            "queue {}: nothing was recorded in the last {since}",
            args.queue
        ))
        .hint("workers record once a minute, and so does leaseq-cleaner"));
    };
    let steps = steps.all;
    if shared.output.json {
        let steps: Vec<_> = steps.iter().map(value).collect();
        shared.output.document(&json!({
            "queue": args.queue,
            "step_ms": whole_ms(step),
            "before": begun,
            "steps": steps,
        }))?;
    } else {
        let mut rows: Vec<_> = steps.iter().map(row).collect();
        if shared.output.table {
            // Rows are whole minutes of the last month.
            for (row, step) in rows.iter_mut().zip(&steps) {
                row[0] = Cell::word(shown(step));
            }
        }
        shared.output.rows(&HEADINGS, &rows)?;
        if is_new && kind == HistoryKind::Minutes && begun.added > 0 {
            let Totals { added, completed, .. } = begun;
            shared.output.note(&format!(
                "nothing was recorded earlier; until then {added} were added and {completed} done"
            ));
        }
    }
    Ok(0)
}

async fn known(queue: &WorkQueue, kind: HistoryKind) -> leaseq::Result<Vec<Known>> {
    Ok(queue.history(kind).await?.into_iter().map(Known::from).collect())
}

/// When it begins, and when it ends if that is not where the next one could begin.
fn shown(step: &Step) -> String {
    let (from, until) = (local_time(step.begin), local_time(step.until));
    if !step.is_gap {
        return from[5..16].into();
    }
    let day = if from[..10] == until[..10] { 11 } else { 5 };
    format!("{} - {}", &from[5..16], &until[day..16])
}

fn step_of(since: Duration) -> Duration {
    let minutes = since.as_secs() / 60;
    let enough = STEPS.into_iter().find(|step| minutes.div_ceil(*step) <= ROWS);
    // Rows of hours are not divided.
    let least = if since > MINUTES { 60 } else { 1 };
    Duration::from_secs(60 * enough.unwrap_or(1_440).max(least))
}

const HEADINGS: [&str; 13] = [
    "FROM", "ADDED", "DONE", "FAILED", "EXPIRED", "DIED", "READY", "LEASED", "WAITED", "P99",
    "RAN", "P99", "LEASE",
];

/// A measured time, in µs.
fn time(histogram: &Histogram, part: f64) -> Cell {
    Cell::duration(histogram.quantile(part).map(Duration::from_micros))
}

fn row(step: &Step) -> Vec<Cell> {
    let Step { changed, measured, .. } = step;
    // At 90 % of a lease, a slow moment makes it expire.
    let used = match measured.lease_use.quantile(0.99) {
        None => Cell::Empty,
        Some(used) => Cell::Word(format!("{}%", used / 10), used >= 900),
    };
    vec![
        Cell::Time(step.begin),
        Cell::Number(changed.added),
        Cell::Number(changed.completed),
        Cell::alarm(changed.failed),
        Cell::alarm(changed.expired),
        Cell::alarm(changed.died),
        Cell::Number(step.ready),
        Cell::Number(step.leased),
        time(&measured.waiting, 0.5),
        time(&measured.waiting, 0.99),
        time(&measured.run, 0.5),
        time(&measured.run, 0.99),
        used,
    ]
}

fn value(step: &Step) -> Value {
    let times = |histogram: &Histogram| {
        let ms = |part| histogram.quantile(part).map(|us| us as f64 / 1_000.0);
        json!({ "count": histogram.count(), "p50_ms": ms(0.5), "p99_ms": ms(0.99) })
    };
    let used = |part| step.measured.lease_use.quantile(part).map(|used| used as f64 / 1_000.0);
    json!({
        "from": exact_time(step.begin),
        "until": exact_time(step.until),
        "changed": step.changed,
        "ready": step.ready,
        "leased": step.leased,
        "waited": times(&step.measured.waiting),
        "ran": times(&step.measured.run),
        "lease_used": { "p50": used(0.5), "p99": used(0.99) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_are_as_long_as_a_screen_needs() {
        for (hours, minutes) in [(1, 5), (6, 15), (24, 60), (48, 120), (31 * 24, 1_440)] {
            let step = step_of(Duration::from_secs(hours * 3_600));
            assert_eq!(step, Duration::from_secs(minutes * 60), "{hours} h");
        }
        assert_eq!(step_of(Duration::from_secs(60)), Duration::from_secs(60));
    }
}
