//! `settings`: reads and changes the settings of a queue.

use std::time::Duration;

use clap::Args;
use leaseq::{Rate, Role, Settings, SettingsChange};
use leaseq_report::duration;
use serde_json::json;

use crate::failure::{Ended, Failure};
use crate::global::Shared;
use crate::output::Cell;
use crate::text::{exact_time, whole_ms};

#[derive(Debug, Args)]
#[command(after_help = "\
Settings:
  max_attempts=5          attempts of items without a limit of their own
  retain=24h              how long completed items are kept
  max_dead=100000         the most dead items; max_retained: the most completed and cancelled ones
  max_dead_age=30d        how long dead items are kept; max_retained_age: completed and cancelled ones
  key_limit=2             how many items of a key are leased at the same time
  events=10000            how many of its last changes the queue keeps
  rate=10/1s              leases in a time, rate=10/1s,burst=50 with a burst; key_rate: of each key
A value of none removes a setting.")]
pub(crate) struct SettingsArgs {
    pub(crate) queue: String,
    /// What to change
    #[arg(value_name = "KEY=VALUE")]
    changes: Vec<String>,
    /// Change nothing unless the stored revision is this one
    #[arg(long, value_name = "N", requires = "changes")]
    if_revision: Option<u64>,
}

impl SettingsArgs {
    pub(crate) fn role(&self) -> Role {
        if self.changes.is_empty() { Role::Monitor } else { Role::Operator }
    }
}

pub(crate) async fn settings(shared: &Shared, args: SettingsArgs) -> Ended {
    let mut change = SettingsChange::new();
    for text in &args.changes {
        change = add(change, text)?;
    }
    let queue = match args.changes.is_empty() {
        true => shared.existing(&args.queue).await?,
        false => shared.queue(&args.queue).await?,
    };
    if !args.changes.is_empty() {
        if let Some(revision) = args.if_revision {
            change = change.expect_revision(revision);
        }
        if queue.configure(change).await?.is_none() {
            return Err(Failure::no("nothing was changed: the stored revision is another one"));
        }
    }
    show(shared, &queue.settings().await?)
}

fn show(shared: &Shared, settings: &Settings) -> Ended {
    let number = |value: Option<u64>| json!(value);
    let time = |time: Option<Duration>| json!(time.map(whole_ms));
    let rate = |rate: Option<Rate>| {
        json!(rate.map(|rate| {
            json!({ "count": rate.count, "period_ms": whole_ms(rate.period), "burst": rate.burst })
        }))
    };
    if shared.output.json {
        shared.output.document(&json!({
            "max_attempts": settings.max_attempts,
            "retain_ms": whole_ms(settings.retain),
            "max_dead": number(settings.max_dead),
            "max_retained": number(settings.max_retained),
            "max_dead_age_ms": time(settings.max_dead_age),
            "max_retained_age_ms": time(settings.max_retained_age),
            "key_limit": settings.key_limit,
            "events": number(settings.events),
            "rate": rate(settings.rate),
            "key_rate": rate(settings.key_rate),
            "revision": settings.revision,
            "paused": settings.paused,
            "paused_until": settings.paused_until.map(exact_time),
            "paused_at": settings.paused_at.map(exact_time),
            "paused_by": settings.paused_by,
            "pause_reason": settings.pause_reason,
            "rate_limited_until": settings.rate_limited_until.map(exact_time),
        }))?;
        return Ok(0);
    }
    let number = |value: Option<u64>| Cell::word(value.map_or("none".into(), |n| n.to_string()));
    let time = |time: Option<Duration>| Cell::word(time.map_or("none".into(), duration::show));
    let rate = |rate: Rate| {
        let period = duration::show(rate.period);
        format!("{}/{period},burst={}", rate.count, rate.burst)
    };
    let retain = Some(settings.retain).filter(|retain| !retain.is_zero());
    let mut rows = vec![
        ("max_attempts", number(settings.max_attempts.map(u64::from))),
        ("retain", time(retain)),
        ("max_dead", number(settings.max_dead)),
        ("max_retained", number(settings.max_retained)),
        ("max_dead_age", time(settings.max_dead_age)),
        ("max_retained_age", time(settings.max_retained_age)),
        ("key_limit", Cell::Number(settings.key_limit.into())),
        ("events", number(settings.events)),
        ("rate", Cell::word(settings.rate.map_or("none".into(), rate))),
        ("key_rate", Cell::word(settings.key_rate.map_or("none".into(), rate))),
        ("revision", Cell::Number(settings.revision)),
        ("paused", Cell::Word(settings.paused.to_string(), settings.paused)),
    ];
    let times = [("paused_at", settings.paused_at), ("paused_until", settings.paused_until)];
    rows.extend(times.into_iter().filter_map(|(name, at)| Some((name, Cell::Time(at?)))));
    for (name, text) in
        [("paused_by", &settings.paused_by), ("pause_reason", &settings.pause_reason)]
    {
        if !text.is_empty() {
            rows.push((name, Cell::text(text)));
        }
    }
    if let Some(until) = settings.rate_limited_until {
        rows.push(("rate_limited_until", Cell::Time(until)));
    }
    let rows: Vec<_> = rows.into_iter().map(|(name, cell)| vec![Cell::word(name), cell]).collect();
    shared.output.rows(&["SETTING", "VALUE"], &rows)?;
    Ok(0)
}

/// Adds a change, written as KEY=VALUE.
fn add(change: SettingsChange, text: &str) -> Result<SettingsChange, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::usage(format_args!("{text:?}: {why}"));
    let (key, value) = text.split_once('=').ok_or_else(|| wrong(&"write KEY=VALUE"))?;
    let value = Some(value).filter(|value| *value != "none");
    let number = || -> Result<Option<u64>, Failure> {
        let read =
            value.map(|value| value.parse().map_err(|_| wrong(&"not a whole number or none")));
        read.transpose()
    };
    let small = || -> Result<Option<u32>, Failure> {
        let read = |n: u64| u32::try_from(n).map_err(|_| wrong(&"too large"));
        number()?.map(read).transpose()
    };
    let time = || -> Result<Option<Duration>, Failure> {
        value.map(|value| duration::read(value).map_err(|why| wrong(&why))).transpose()
    };
    let any_rate = || -> Result<Option<Rate>, Failure> {
        let read = |value| rate(value).ok_or_else(|| wrong(&"write 10/1s or 10/1s,burst=50"));
        value.map(read).transpose()
    };
    Ok(match key {
        "max_attempts" => change.max_attempts(small()?),
        "retain" => change.retain(time()?),
        "max_dead" => change.max_dead(number()?),
        "max_retained" => change.max_retained(number()?),
        "max_dead_age" => change.max_dead_age(time()?),
        "max_retained_age" => change.max_retained_age(time()?),
        "key_limit" => change.key_limit(small()?),
        "events" => change.events(number()?),
        "rate" => change.rate(any_rate()?),
        "key_rate" => change.key_rate(any_rate()?),
        _ => return Err(wrong(&"no such setting: see leaseq help settings")),
    })
}

/// `10/1s` or `10/1s,burst=50`.
fn rate(text: &str) -> Option<Rate> {
    let (rate, burst) = match text.split_once(",burst=") {
        Some((rate, burst)) => (rate, Some(burst.parse().ok()?)),
        None => (text, None),
    };
    let (count, period) = rate.split_once('/')?;
    let rate = Rate::new(count.parse().ok()?, duration::read(period).ok()?);
    Some(burst.map_or(rate, |burst| rate.burst(burst)))
}
