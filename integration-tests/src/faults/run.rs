//! One fault on one engine: load, break, heal, drain, check.

use std::sync::Arc;
use std::time::Instant;

use tokio::task::{JoinHandle, block_in_place};

use super::checker;
use super::drain::{drain, take_stock};
use super::ends;
use super::fault::Fault;
use super::fault_context::FaultContext;
use super::history::History;
use super::jobs;
use super::load::{Load, Rates, Stage};
use super::operate::operate;
use super::place::Place;
use super::recorder::Recorder;
use super::rng::SeededRng;
use super::specs::specs;
use super::terms::{Report, Terms};
use super::ticks;
use super::warm::until_warm;
use super::work::work;
use super::worker_pool::WorkerPool;
use crate::error::Error;

/// Completions before the fault begins.
const WARM: u64 = 30;
/// Concurrent calls of each process: to add, and to lease. Another one looks at items and changes them.
const PRODUCERS: usize = 2;
const WORKERS: usize = 2;
/// Within so many completions the queue of half of the runs becomes extended.
const EXTENDED: u64 = 200;

pub(super) async fn play(
    fault: &Fault,
    engine: &'static str,
    terms: &Terms,
) -> Result<Report, Error> {
    if fault.inject_jobs.is_some() {
        return jobs::play::play(fault, engine, terms).await;
    }
    if fault.ends {
        return ends::play(fault, engine, terms).await;
    }
    if let Some(breaks) = fault.ticks {
        return ticks::play(fault, breaks, engine, terms).await;
    }
    let mut place = match block_in_place(|| Place::start(engine, &fault.setup))? {
        Ok(place) => place,
        Err(why) => return Ok(Report { skipped: Some(why), ..Report::default() }),
    };
    let rng = |name: &str| SeededRng::new(terms.seed, &format!("{} {engine} {name}", fault.name));
    let specs = specs(fault, &place, terms, &mut rng("outfits"));
    let pool = WorkerPool::start(specs).await?;
    if let Some(ability) = fault.needs.filter(|ability| pool.able(ability).is_empty()) {
        pool.end().await?;
        let why = format!("no language here can {ability}");
        return Ok(Report { skipped: Some(why), ..Report::default() });
    }
    let recorder = Arc::new(Recorder::new());
    let mut extending = rng("extended");
    let is_extended = fault.extended || extending.chance(50);
    let extends_after = is_extended.then(|| extending.number(0..EXTENDED));
    let has_rate = extending.chance(50) || fault.rated;
    let has_keys = extending.chance(50) || fault.rated;
    let key_limit = if has_keys { extending.number(1..4) } else { 0 };
    let has_key_rate = key_limit > 0 && (extending.chance(50) || fault.rated);
    let rates = Rates { of_queue: has_rate, of_keys: has_key_rate };
    let load = Load::new(recorder.clone(), fault.mix, extends_after, rates, key_limit);
    let load = Arc::new(load);
    let mut producers: Vec<JoinHandle<()>> = Vec::new();
    let mut workers: Vec<JoinHandle<()>> = Vec::new();
    for worker_slot in &pool.worker_slots {
        for i in 0..PRODUCERS {
            let rng = rng(&format!("{} producer {i}", worker_slot.name));
            producers.push(tokio::spawn(load.clone().produce(worker_slot.clone(), rng)));
        }
        let rng_of_operator = rng(&format!("{} operator", worker_slot.name));
        producers.push(tokio::spawn(operate(load.clone(), worker_slot.clone(), rng_of_operator)));
        for i in 0..WORKERS {
            let (name, rng) = (format!("d{i}"), rng(&format!("{} worker {i}", worker_slot.name)));
            workers.push(tokio::spawn(work(load.clone(), worker_slot.clone(), name, rng)));
        }
    }
    until_warm(|| load.completed(), WARM).await?;
    let held: Vec<_> = pool.worker_slots.iter().map(|worker_slot| worker_slot.holds()).collect();
    let (until, rng) = (Instant::now() + terms.time, rng("fault"));
    let mut context = FaultContext {
        place: &mut place,
        pool: &pool,
        load: load.clone(),
        recorder: recorder.clone(),
        rng,
        until,
        times: 0,
    };
    (fault.inject)(&mut context).await?;
    let times = context.times;
    load.stage.send_replace(Stage::Drain);
    // Adds and changes in flight may still be executed, until the time-out of their calls.
    for producer in producers {
        producer.await?;
    }
    let drained = drain(&pool, &load).await;
    load.stage.send_replace(Stage::End);
    // A late call may still complete a dead item.
    for worker in workers {
        worker.await?;
    }
    let ended = match drained {
        Ok(()) => take_stock(&place, &pool, &recorder).await,
        stuck => stuck,
    };
    if let Err(error) = ended {
        recorder.fault(error.to_string());
    }
    if fault.leaks {
        for (worker_slot, before) in pool.worker_slots.iter().zip(held) {
            leak(&worker_slot.name, before, worker_slot.holds(), &recorder);
        }
    }
    if let Err(error) = pool.end().await {
        recorder.fault(error.to_string());
    }
    let (mut history, faults) = recorder.finish(fault.setup.clock);
    if !history.windows.is_empty() {
        history.totals = None; // the server may have lost its count
    }
    let mut report = report(&history, faults);
    if times == 0 {
        report.faults.push("nothing was broken: the run has proved nothing".into());
    }
    (report.times, report.extended) = (times, usize::from(is_extended));
    Ok(report)
}

/// A process may grow while it works, but not with each fault.
fn leak(
    who: &str,
    before: Option<(usize, usize)>,
    after: Option<(usize, usize)>,
    recorder: &Recorder,
) {
    const MORE: usize = 40;
    let (Some((files, threads)), Some((files_now, threads_now))) = (before, after) else { return };
    if files_now > files + MORE || threads_now > threads + MORE {
        recorder.fault(format!(
            "{who} leaks: {files} files and {threads} threads became {files_now} and {threads_now}"
        ));
    }
}

fn report(history: &History, mut faults: Vec<String>) -> Report {
    let checked = checker::check(history);
    for violation in &checked.violations {
        faults.push(match &violation.id {
            Some(id) => format!("{id} {}\n{}", violation.what, history.of(id)),
            None => violation.what.clone(),
        });
    }
    Report {
        adds: history.adds.iter().filter(|add| add.outcome == super::history::Outcome::Yes).count(),
        leases: history.leases.len(),
        completes: history
            .settles
            .iter()
            .filter(|settle| {
                settle.how.completes() && settle.outcome == super::history::Outcome::Yes
            })
            .count(),
        unknown: history.unknown(),
        excused: checked.excused,
        faults,
        ..Report::default()
    }
}
