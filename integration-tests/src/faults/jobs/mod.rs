//! Faults of workers: processes run handlers, something breaks meanwhile, and a checker compares what the handlers
//! have logged with what workers promise.

mod checker;
mod fleet;
mod history;
mod kinds;
mod load;
mod log;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::block_in_place;

use super::fault::Fault;
use super::place::Place;
use super::rng::SeededRng;
use super::run::{Report, Terms};
use super::worker_pool::HEALED;
use crate::conformance::testee::{Language, Testee};
use crate::error::Error;

use self::fleet::Fleet;
use self::history::History;
use self::load::Load;

pub(super) use self::kinds::{
    cancel_while_busy, kill, restart_server, signal, stop, with_unknown_names,
};

/// Completions before the fault begins.
const WARM: u64 = 20;

/// What a fault of workers can use.
pub(super) struct JobContext<'a> {
    place: &'a mut Place,
    fleet: &'a mut Fleet,
    load: &'a mut Load,
    rng: SeededRng,
    until: Instant,
    /// How often something was broken.
    times: u64,
}

impl JobContext<'_> {
    /// False when the time is over and something was broken.
    fn goes_on(&self) -> bool {
        self.times == 0 || Instant::now() < self.until
    }

    /// Adds jobs for so long.
    async fn rest(&mut self, ms: std::ops::Range<u64>) -> Result<(), Error> {
        let end = Instant::now() + self.rng.ms(ms);
        self.load.run_until(end).await
    }
}

/// Runs a fault of workers on one engine, and checks the result.
pub(super) async fn play(
    fault: &Fault,
    engine: &'static str,
    terms: &Terms,
) -> Result<Report, Error> {
    let Some(inject) = fault.inject_jobs else { return Err("not a fault of workers".into()) };
    let mut place = match block_in_place(|| Place::start(engine, &fault.setup))? {
        Ok(place) => place,
        Err(why) => return Ok(Report { skipped: Some(why), ..Report::default() }),
    };
    let languages = able(&terms.languages).await?;
    if languages.is_empty() {
        let why = "no language here has a worker".to_owned();
        return Ok(Report { skipped: Some(why), ..Report::default() });
    }
    let rng = |name: &str| SeededRng::new(terms.seed, &format!("{} {engine} {name}", fault.name));
    let (url, logs) = (format!("{}timeout_ms=10000", place.url()), tempfile::tempdir()?);
    let control = Control::start(&languages[0], &url).await?;
    let mut load = Load::new(control, rng("load"));
    let mut fleet = Fleet::start(languages, url, logs.path().to_owned(), rng("fleet")).await?;
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
    let limits = history::Limits { slots: fleet::SLOTS, key: load::KEY_LIMIT };
    let history = History { jobs: load.into_jobs(), runs, workers, windows, left, limits };
    faults.extend(checker::check(&history));
    if times == 0 {
        faults.push("nothing was broken: the run has proved nothing".into());
    }
    let completes = history.left.values().filter(|left| left.state == "completed").count();
    let (adds, leases) = (history.jobs.len(), history.runs.len());
    Ok(Report { adds, leases, completes, times, faults, ..Report::default() })
}

/// The languages that have a worker.
async fn able(languages: &[Language]) -> Result<Vec<Language>, Error> {
    let mut able = Vec::new();
    for language in languages {
        let testee = Testee::start(language, &[]).await?;
        if testee.abilities.iter().any(|can| can == "jobs") {
            able.push(language.clone());
        }
        testee.end().await?;
    }
    Ok(able)
}

/// A process that adds jobs and looks at the queue, and that nothing breaks.
struct Control(Testee);

impl Control {
    async fn start(language: &Language, url: &str) -> Result<Control, Error> {
        let control = Control(Testee::start(language, &no_environment()).await?);
        control.ask(json!({ "op": "connect", "url": url })).await?;
        control
            .ask(json!({ "op": "configure", "change": { "key_limit": load::KEY_LIMIT } }))
            .await?;
        Ok(control)
    }

    async fn ask(&self, mut request: Value) -> Result<Value, Error> {
        request["client"] = "control".into();
        request["queue"] = fleet::QUEUE.into();
        let answer = self.0.ask(request.clone()).await?.answer().await?;
        answer.map_err(|failure| format!("{request}: {}", failure.message).into())
    }
}

fn no_environment() -> [(&'static str, PathBuf); 0] {
    []
}
