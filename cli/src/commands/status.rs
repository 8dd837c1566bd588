//! `queues` and `status`: how the queues are.

use std::time::{Duration, SystemTime};

use clap::Args;
use leaseq::Counts;
use leaseq_report::{Snapshot, duration};
use serde_json::{Value, json};

use crate::failure::{Ended, Failure, INTERRUPTED, NO, PARTLY};
use crate::global::Shared;
use crate::item_json;
use crate::output::Cell;
use crate::stop::Stop;
use crate::text::exact_time;

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The queues [default: all]
    #[arg(value_name = "QUEUE")]
    queues: Vec<String>,
    /// Show it again and again, until it is interrupted; with --json, one line for each queue and time
    #[arg(long)]
    watch: bool,
    /// How often with --watch: 100ms to 1h
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::read)]
    interval: Duration,
}

pub(crate) async fn queues(shared: &Shared) -> Ended {
    let names = shared.names(&[]).await?;
    if shared.output.json {
        shared.output.document(&json!(names))?;
    } else {
        let rows: Vec<_> = names.iter().map(|name| vec![Cell::text(name)]).collect();
        shared.output.rows(&["QUEUE"], &rows)?;
    }
    Ok(if names.is_empty() { NO } else { 0 })
}

pub(crate) async fn status(shared: &Shared, args: StatusArgs) -> Ended {
    let limits = Duration::from_millis(100)..=Duration::from_secs(3600);
    if !limits.contains(&args.interval) {
        return Err(Failure::usage("an interval is between 100ms and 1h"));
    }
    if !args.watch {
        return once(shared, &args.queues).await;
    }
    let stop = Stop::listen()?;
    loop {
        watch(shared, &args.queues).await?;
        if stop.within(args.interval).await {
            return Ok(INTERRUPTED);
        }
    }
}

/// The counts of the named queues, or of all.
pub(crate) async fn snapshot(shared: &Shared, named: &[String]) -> Result<Snapshot, Failure> {
    let names = shared.names(named).await?;
    let snapshot = Snapshot::take(shared.client().await?, names).await;
    match snapshot.error {
        Some(error) => Err(Failure::usage(error)),
        None => Ok(snapshot),
    }
}

const HEADINGS: [&str; 10] =
    ["QUEUE", "READY", "DELAYED", "HELD", "LEASED", "DEAD", "COMPLETED", "CANCELLED", "OLDEST", ""];

fn row(name: &str, counts: &Counts) -> Vec<Cell> {
    let state = match (counts.paused, counts.rate_limited) {
        (true, _) => Cell::Word("paused".into(), true),
        (false, true) => Cell::word("rate limited"),
        _ => Cell::word(""),
    };
    vec![
        Cell::text(name),
        Cell::Number(counts.ready),
        Cell::Number(counts.delayed),
        Cell::Number(counts.held),
        Cell::Number(counts.leased),
        Cell::alarm(counts.dead),
        Cell::Number(counts.completed),
        Cell::Number(counts.cancelled),
        Cell::duration(counts.oldest_ready),
        state,
    ]
}

async fn once(shared: &Shared, named: &[String]) -> Ended {
    let snapshot = snapshot(shared, named).await?;
    if shared.output.json {
        shared.output.document(&json!(values(&snapshot)))?;
    } else {
        let rows: Vec<_> = snapshot.counts.iter().map(|(name, counts)| row(name, counts)).collect();
        shared.output.rows(&HEADINGS, &rows)?;
        for (name, error) in &snapshot.uncounted {
            shared.output.note(&format!("leaseq: queue {name} cannot be counted: {error}"));
        }
    }
    Ok(match (snapshot.uncounted.is_empty(), snapshot.counts.is_empty()) {
        (false, _) => PARTLY,
        (true, true) => NO,
        (true, false) => 0,
    })
}

fn values(snapshot: &Snapshot) -> Vec<Value> {
    let counted = snapshot.counts.iter().map(|(name, counts)| item_json::counts(name, counts));
    let uncounted = snapshot.uncounted.iter();
    counted.chain(uncounted.map(|(name, error)| json!({ "queue": name, "error": error }))).collect()
}

async fn watch(shared: &Shared, named: &[String]) -> Result<(), Failure> {
    let output = &shared.output;
    let taken = snapshot(shared, named).await;
    let now = SystemTime::now();
    match taken {
        Ok(taken) if output.json => {
            for mut value in values(&taken) {
                value["at"] = json!(exact_time(now));
                output.object(&value)?;
            }
        }
        Ok(taken) => {
            if output.table {
                let rows: Vec<_> =
                    taken.counts.iter().map(|(name, counts)| row(name, counts)).collect();
                let table = output.table(&HEADINGS, &rows);
                let clear = if output.color { "\x1b[2J\x1b[H" } else { "" };
                let at = crate::text::local_time(now);
                output.line(&format!("{clear}{}  {at}\n\n{table}", shared.server_name()?))?;
            } else {
                let rows: Vec<_> = taken
                    .counts
                    .iter()
                    .map(|(name, counts)| [vec![Cell::Time(now)], row(name, counts)].concat())
                    .collect();
                output.rows(&[], &rows)?;
            }
        }
        // The server may come back: it is watched on.
        Err(failure) if failure.status != NO => output.note(&failure.shown(output.json)),
        Err(failure) => return Err(failure),
    }
    Ok(())
}
