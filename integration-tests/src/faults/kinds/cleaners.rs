//! Light and deep cleans in all languages, and cleaner programs, beside workers whose leases last
//! milliseconds.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use tokio::task::JoinSet;

use crate::error::Error;
use crate::faults::cleaner::Cleaner;
use crate::faults::fault_context::FaultContext;
use crate::faults::recorder::Recorder;
use crate::faults::rng::SeededRng;
use crate::faults::worker_pool::ask;

/// Cleaners in each process, and cleaner programs.
const EACH: usize = 2;
const PROGRAMS: usize = 3;

/// Cleans by calls of the workers' own processes.
pub(in crate::faults) async fn race(context: &mut FaultContext<'_>) -> Result<(), Error> {
    let mut cleaners = JoinSet::new();
    for worker_slot in context.pool.worker_slots.iter().flat_map(|worker_slot| [worker_slot; EACH])
    {
        let (worker_slot, recorder, until) =
            (worker_slot.clone(), context.recorder.clone(), context.until);
        let mut rng = SeededRng::new(context.rng.number(0..u64::MAX), &worker_slot.name);
        cleaners.spawn(async move {
            let mut times = 0;
            while times == 0 || Instant::now() < until {
                let Some(process) = worker_slot.process().await else { break };
                let op = *rng.pick(&["light_clean", "light_clean", "deep_clean", "check"]);
                if let Some(Ok(report)) = ask(&process, &recorder, json!({ "op": op })).await {
                    times += 1;
                    // Nothing breaks here, so cleans must find no damage.
                    if report.get("sound").is_some_and(|sound| *sound != true) {
                        recorder.fault(format!(
                            "{op} by {} found {}",
                            worker_slot.name, report["found"]
                        ));
                    }
                }
                tokio::time::sleep(rng.ms(0..10)).await;
            }
            times
        });
    }
    while let Some(times) = cleaners.join_next().await {
        context.times += times?;
    }
    Ok(())
}

/// The same beside cleaner programs, which start, stop, and are sometimes killed.
pub(in crate::faults) async fn race_programs(context: &mut FaultContext<'_>) -> Result<(), Error> {
    let mut programs = JoinSet::new();
    for i in 0..PROGRAMS {
        let url = format!("{}timeout_ms=10000", context.place.url());
        let rng = SeededRng::new(context.rng.number(0..u64::MAX), &format!("cleaner {i}"));
        programs.spawn(come_and_go(url, context.until, context.recorder.clone(), rng));
    }
    race(context).await?;
    while let Some(times) = programs.join_next().await {
        context.times += times?;
    }
    Ok(())
}

/// Starts and ends cleaners one after the other, and returns how many. Failures are recorded.
async fn come_and_go(
    url: String,
    until: Instant,
    recorder: Arc<Recorder>,
    mut rng: SeededRng,
) -> u64 {
    let mut times = 0;
    while times == 0 || Instant::now() < until {
        let (works, killed, rests) = (rng.ms(50..1_000), rng.chance(30), rng.ms(0..200));
        let gone = async {
            let cleaner = Cleaner::start(&url).await?;
            tokio::time::sleep(works).await;
            if killed { cleaner.kill().await } else { cleaner.stop().await }
        };
        if let Err(error) = gone.await {
            recorder.fault(error.to_string());
            break;
        }
        times += 1;
        tokio::time::sleep(rests).await;
    }
    times
}
