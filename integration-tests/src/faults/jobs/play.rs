//! One fault of workers on one engine.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::block_in_place;

use super::checker::check;
use super::context::JobContext;
use super::control::{Control, KEY_LIMIT};
use super::fleet::{Fleet, SLOTS};
use super::history::{History, Limits};
use super::load::Load;
use super::memory::MemoryGroup;
use crate::conformance::testee::{Language, Testee};
use crate::error::Error;
use crate::faults::fault::Fault;
use crate::faults::place::Place;
use crate::faults::rng::SeededRng;
use crate::faults::terms::{Report, Terms};
use crate::faults::worker_pool::HEALED;

/// Completions before the fault begins.
const WARM: u64 = 20;

/// Runs a fault of workers on one engine, and checks the result.
pub(in crate::faults) async fn play(
    fault: &Fault,
    engine: &'static str,
    terms: &Terms,
) -> Result<Report, Error> {
    let Some(inject) = fault.inject_jobs else { return Err("not a fault of workers".into()) };
    let mut place = match block_in_place(|| Place::start(engine, &fault.setup))? {
        Ok(place) => place,
        Err(why) => return Ok(Report { skipped: Some(why), ..Report::default() }),
    };
    let needs = if fault.children { "children" } else { "jobs" };
    let memory = match fault.memory.map(MemoryGroup::new).transpose() {
        Ok(memory) => memory,
        Err(why) => return Ok(Report { skipped: Some(why), ..Report::default() }),
    };
    let languages = able(&terms.languages, needs).await?;
    if languages.is_empty() {
        let why = format!("no language here can {needs}");
        return Ok(Report { skipped: Some(why), ..Report::default() });
    }
    let rng = |name: &str| SeededRng::new(terms.seed, &format!("{} {engine} {name}", fault.name));
    let (url, logs) = (format!("{}timeout_ms=10000", place.url()), tempfile::tempdir()?);
    let control = Control::start(&languages[0], &url).await?;
    control.ask(json!({ "op": "configure", "change": { "key_limit": KEY_LIMIT } })).await?;
    let mut load = Load::new(control, rng("load"), fault.children);
    let (folder, fleet_rng) = (logs.path().to_owned(), rng("fleet"));
    let mut fleet = Fleet::start(languages, url, folder, fleet_rng, fault.children, memory).await?;
    let warm = Instant::now() + HEALED;
    while load.completed().await? < WARM {
        if Instant::now() >= warm {
            return Err("nothing was completed before anything was broken".into());
        }
        load.run_until(Instant::now() + Duration::from_millis(20)).await?;
    }
    let (times, windows) = {
        let until = Instant::now() + terms.time;
        let (place, fleet, load) = (&mut place, &mut fleet, &mut load);
        let rng = rng("fault");
        let mut context = JobContext { place, fleet, load, rng, until, times: 0 };
        inject(&mut context).await?;
        (context.times, std::mem::take(&mut context.fleet.windows))
    };
    let mut faults = Vec::new();
    if let Err(error) = load.until_drained(HEALED).await {
        faults.push(error.to_string());
    }
    // Jobs that nobody knows change their state as long as there are workers.
    faults.extend(fleet.end().await?);
    let left = load.left().await?;
    if let Err(error) = load.sound().await {
        faults.push(error.to_string());
    }
    let (runs, workers) = fleet.runs()?;
    let limits = Limits { slots: SLOTS, key: KEY_LIMIT, by_locks: fault.children };
    let history = History { jobs: load.into_jobs(), runs, workers, windows, left, limits };
    faults.extend(check(&history));
    if times == 0 {
        faults.push("nothing was broken: the run has proved nothing".into());
    }
    let completes = history.left.values().filter(|left| left.state == "completed").count();
    let (adds, leases) = (history.jobs.len(), history.runs.len());
    Ok(Report { adds, leases, completes, times, faults, ..Report::default() })
}

/// The languages that can do this.
async fn able(languages: &[Language], needs: &str) -> Result<Vec<Language>, Error> {
    let mut able = Vec::new();
    for language in languages {
        let testee = Testee::start(language, &[]).await?;
        if testee.abilities.iter().any(|can| can == needs) {
            able.push(language.clone());
        }
        testee.end().await?;
    }
    Ok(able)
}
