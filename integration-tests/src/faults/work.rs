//! What each worker does until the run ends: it leases, uses its leases, and keeps some old handles.

use std::sync::Arc;

use super::history::How;
use super::load::{Load, Stage, rest};
use super::rng::SeededRng;
use super::worker::Worker;
use super::worker_pool::WorkerSlot;
use crate::conformance::testee::Testee;

/// How many old handles each worker keeps, to use them when they are stale.
const SLOTS: u64 = 4;

/// Leases and settles until it is stopped.
pub(super) async fn work(
    load: Arc<Load>,
    worker_slot: Arc<WorkerSlot>,
    name: String,
    mut rng: SeededRng,
) {
    let mut slot = 0;
    // Earlier leases whose handles the process still has.
    let mut old: Vec<(usize, String)> = Vec::new();
    let mut last: Option<Arc<Testee>> = None;
    while load.stage() != Stage::End {
        let Some(process) = worker_slot.process().await else { continue };
        if !last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &process)) {
            old.clear(); // another process, with no handles
            last = Some(process.clone());
        }
        slot = (slot + 1) % SLOTS;
        let handle = format!("{name}.{slot}");
        old.retain(|(_, of)| !of.starts_with(&handle));
        let worker = Worker { load: &load, worker_slot: &worker_slot, process: &process };
        let Some(held) = worker.lease(&handle, &mut rng).await else {
            rest(&mut rng, true).await;
            continue;
        };
        let mut held = held;
        if load.stage() == Stage::Load && !held.is_empty() && rng.chance(15) {
            slot = (slot + 1) % SLOTS;
            let handle = format!("{name}.{slot}");
            old.retain(|(_, of)| !of.starts_with(&handle));
            let next = worker.complete_and_lease(&held, &handle, &mut rng).await;
            old.extend(held.into_iter().map(|held| (held.lease, held.handle)));
            held = next.unwrap_or_default();
        }
        if load.stage() == Stage::Load {
            worker.use_leases(&held, &old, &mut rng).await;
        } else {
            worker.settle(&held, How::Complete, &mut rng).await;
        }
        old.extend(held.into_iter().map(|held| (held.lease, held.handle)));
    }
}
