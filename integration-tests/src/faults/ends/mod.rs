//! Items in five queues end in every way while something breaks: what their ends have to add, and those of groups,
//! is added exactly once.

mod check;
mod groups;
mod history;
mod load;
mod rest;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use tokio::task::block_in_place;

use self::load::Load;
use super::fault::Fault;
use super::fault_context::FaultContext;
use super::load::{Load as Calls, Rates, Stage};
use super::place::Place;
use super::recorder::Recorder;
use super::rng::SeededRng;
use super::specs::specs;
use super::terms::{Report, Terms};
use super::warm::until_warm;
use super::worker_pool::WorkerPool;
use crate::error::Error;

/// Completions before anything is broken.
const WARM: u64 = 30;
const WORKERS: usize = 2;
/// What a process must know to make groups.
const GROUPS: &str = "groups";
/// Members of the large group for each second of a round: 10,000 in the longest.
const MEMBERS_A_SECOND: usize = 500;

pub(super) async fn play(
    fault: &Fault,
    engine: &'static str,
    terms: &Terms,
) -> Result<Report, Error> {
    let mut place = match block_in_place(|| Place::start(engine, &fault.setup))? {
        Ok(place) => place,
        Err(why) => return Ok(Report { skipped: Some(why), ..Report::default() }),
    };
    let rng = |name: &str| SeededRng::new(terms.seed, &format!("{} {engine} {name}", fault.name));
    let pool = WorkerPool::start(specs(fault, &place, terms, &mut rng("outfits"))).await?;
    let recorder = Arc::new(Recorder::new());
    let load = Arc::new(Load::new(recorder.clone()));
    let (mut producers, mut makers, mut workers) = (Vec::new(), Vec::new(), Vec::new());
    for slot in &pool.worker_slots {
        let rng_of = |what: &str| rng(&format!("{} {what}", slot.name));
        producers.push(tokio::spawn(load.clone().produce(slot.clone(), rng_of("producer"))));
        for i in 0..WORKERS {
            let (handle, rng) = (format!("h{i}"), rng_of(&format!("worker {i}")));
            workers.push(tokio::spawn(load.clone().work(slot.clone(), handle, rng)));
        }
    }
    let members = MEMBERS_A_SECOND * usize::try_from(terms.time.as_secs().max(1))?;
    for slot in pool.able(GROUPS) {
        let rng = rng(&format!("{} groups", slot.name));
        makers.push(tokio::spawn(load.clone().group(slot, members, rng)));
    }
    until_warm(|| load.completed(), WARM).await?;
    let idle = Rates { of_queue: false, of_keys: false };
    let calls = Calls::new(recorder.clone(), fault.mix, None, idle, 0);
    let mut context = FaultContext {
        place: &mut place,
        pool: &pool,
        load: Arc::new(calls),
        recorder: recorder.clone(),
        rng: rng("fault"),
        until: Instant::now() + terms.time,
        times: 0,
    };
    (fault.inject)(&mut context).await?;
    let times = context.times;
    load.stage.send_replace(Stage::Drain);
    for producer in producers {
        producer.await?;
    }
    for maker in makers {
        if let Err(error) = maker.await? {
            recorder.fault(error.to_string());
        }
    }
    let drained = rest::drain(&pool, &recorder).await;
    load.stage.send_replace(Stage::End);
    for worker in workers {
        worker.await?;
    }
    let ended = match drained {
        Ok(()) => rest::take_stock(&place, &pool, &load).await,
        stuck => stuck,
    };
    if let Err(error) = ended {
        recorder.fault(error.to_string());
    }
    if let Err(error) = pool.end().await {
        recorder.fault(error.to_string());
    }
    let (_, mut faults) = recorder.finish(fault.setup.clock);
    faults.extend(check::check(&load.history()));
    if times == 0 {
        faults.push("nothing was broken: the run has proved nothing".into());
    }
    let (adds, leases) = {
        let history = load.history();
        (history.plans.len(), history.seen.values().map(Vec::len).sum())
    };
    let (completes, unknown) = (load.completed().try_into()?, load.unknown().try_into()?);
    Ok(Report { adds, leases, completes, unknown, times, faults, ..Report::default() })
}
