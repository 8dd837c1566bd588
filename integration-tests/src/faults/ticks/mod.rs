//! Twenty processes in every language look after one schedule at the same time, and something breaks meanwhile: each
//! tick adds exactly one item.

pub(super) mod breaks;
mod check;
mod crew;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::block_in_place;

use self::breaks::Breaks;
use self::check::{Ticked, check};
use self::crew::Crew;
use super::fault::Fault;
use super::jobs::control::Control;
use super::place::Place;
use super::rng::SeededRng;
use super::terms::{Report, Terms};
use super::warm::until_warm;
use super::worker_pool::HEALED;
use crate::error::Error;

const PROCESSES: usize = 20;
/// The interval of the schedule.
const EVERY_MS: u64 = 100;
/// Completions before anything is broken.
const WARM: usize = 5;

pub(super) async fn play(
    fault: &Fault,
    breaks: Breaks,
    engine: &'static str,
    terms: &Terms,
) -> Result<Report, Error> {
    let mut place = match block_in_place(|| Place::start(engine, &fault.setup))? {
        Ok(place) => place,
        Err(why) => return Ok(Report { skipped: Some(why), ..Report::default() }),
    };
    let mut rng = SeededRng::new(terms.seed, &format!("{} {engine}", fault.name));
    let url = format!("{}timeout_ms=10000", place.url());
    let control = Control::start(&terms.languages[0], &url).await?;
    // Ticks of the time without a server are missed, and each of them is caught up with.
    let schedule = json!({ "op": "put_schedule", "name": "s", "every_ms": EVERY_MS,
        "overlap": true, "missed": 1_000, "item": {} });
    control.ask(schedule).await?;
    let first = next(&control).await?;
    let mut crew = Crew::new(terms.languages.clone(), url, breaks == Breaks::Clocks)?;
    for _ in 0..PROCESSES {
        crew.add().await?;
    }
    until_warm(|| crew.seen().completes(), WARM).await?;
    let until = Instant::now() + terms.time;
    let mut times = 0;
    while times == 0 || Instant::now() < until {
        match breaks {
            Breaks::Processes => {
                crew.kill_one(&mut rng).await?;
                crew.add().await?;
            }
            Breaks::Server => {
                block_in_place(|| place.server().map(|server| server.kill()))?;
                tokio::time::sleep(rng.ms(0..300)).await;
                block_in_place(|| place.server().map(|server| server.restart_with_whole_log()))?;
            }
            Breaks::Clocks => {}
        }
        times += 1;
        tokio::time::sleep(rng.ms(200..600)).await;
    }
    crew.end().await?;
    let (added, next) = at_rest(&control).await?;
    control.ask(json!({ "op": "remove_schedule", "name": "s" })).await?;
    let completes = drain(&control, &crew).await?;
    let (leases, mut faults) = (crew.seen().leases(), crew.seen().faults());
    let ids = crew.seen().generations();
    let ticked = Ticked { first, next, every: EVERY_MS, added, generations: ids };
    faults.extend(check(&ticked));
    let adds = usize::try_from(added)?;
    Ok(Report { adds, leases, completes, times, faults, ..Report::default() })
}

/// When the next tick is.
async fn next(control: &Control) -> Result<u64, Error> {
    let schedules = control.ask(json!({ "op": "schedules" })).await?;
    let next = schedules[0]["next_ms"].as_u64();
    next.ok_or_else(|| format!("no next tick: {schedules}").into())
}

/// How many items were added until which tick. Nobody asks for items any more, but a tick may still be in flight.
async fn at_rest(control: &Control) -> Result<(u64, u64), Error> {
    let end = Instant::now() + HEALED;
    loop {
        let before = next(control).await?;
        let counts = control.ask(json!({ "op": "counts" })).await?;
        let added = counts["totals"]["added"].as_u64().ok_or("no count")?;
        tokio::time::sleep(Duration::from_millis(50)).await;
        if next(control).await? == before {
            return Ok((added, before));
        }
        if Instant::now() >= end {
            return Err("the schedule goes on without processes".into());
        }
    }
}

/// Completes what is left, and returns how many items were completed in all.
async fn drain(control: &Control, crew: &Crew) -> Result<usize, Error> {
    let end = Instant::now() + HEALED;
    loop {
        let lease = json!({ "op": "lease", "duration_ms": 60_000, "wait_ms": 100, "as": "l" });
        let lease = control.ask(lease).await?;
        if lease != Value::Null {
            crew.seen().lease(&lease);
            control.ask(json!({ "op": "complete", "lease": "l" })).await?;
            continue;
        }
        let counts = control.ask(json!({ "op": "counts" })).await?;
        if counts["ready"] == 0 && counts["leased"] == 0 && counts["delayed"] == 0 {
            return Ok(counts["totals"]["completed"].as_u64().ok_or("no count")?.try_into()?);
        }
        if Instant::now() >= end {
            return Err(format!("the queue does not become empty: {counts}").into());
        }
    }
}
