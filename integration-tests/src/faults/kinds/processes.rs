//! What processes do to themselves: they fork, and they block their event loops.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::conformance::testee::Testee;
use crate::error::Error;
use crate::faults::fault_context::FaultContext;
use crate::faults::history::How;
use crate::faults::worker::Worker;
use crate::faults::worker_pool::{QUEUE, WorkerSlot, ask};

/// The duration of a kept lease. Nothing else in its process runs for twice as long.
const LEASE_MS: u64 = 1_500;
const BLOCKED_MS: u64 = 3_000;

/// Python holds its lock, asyncio and Node.js block their loops. Leases are extended all the same.
pub(in crate::faults) async fn block(context: &mut FaultContext<'_>) -> Result<(), Error> {
    let worker_slots = context.pool.able("block");
    while context.goes_on() {
        // All at once, because each takes some time.
        let mut blocked = Vec::new();
        for worker_slot in &worker_slots {
            let process = worker_slot.process().await.ok_or("the process is gone")?;
            let load = context.load.clone();
            let lease = json!({
                "op": "lease", "duration_ms": LEASE_MS, "wait_ms": 5_000, "keep_alive": true,
                "as": "blocked",
            });
            let worker = Worker { load: &load, worker_slot, process: &process };
            let held = worker.lease_as(lease, None, "blocked").await.unwrap_or_default();
            let Some(held) = held.into_iter().next() else { continue };
            let recorder = context.recorder.clone();
            let block = json!({ "op": "block", "ms": BLOCKED_MS });
            let asked = process.clone();
            let task = tokio::spawn(async move { ask(&asked, &recorder, block).await });
            blocked.push((worker_slot, process, held, task));
        }
        for (worker_slot, process, held, task) in blocked {
            task.await?;
            let load = context.load.clone();
            let worker = Worker { load: &load, worker_slot, process: &process };
            worker.one(held.lease, &held.handle, How::Look, &mut context.rng).await;
            worker.one(held.lease, &held.handle, How::CompleteStrict, &mut context.rng).await;
            still_held(context, &worker_slot.name, held.lease);
            context.times += 1;
        }
    }
    Ok(())
}

fn still_held(context: &FaultContext<'_>, who: &str, lease: usize) {
    let history = context.recorder.history();
    let own = &history.leases[lease];
    // An earlier holder may still complete the item; nobody may lease it.
    let lost = history
        .leases
        .iter()
        .any(|other| other.generation == own.generation && other.attempt > own.attempt);
    if lost {
        let id = &history.leases[lease].id;
        let told = history.of(id);
        let what =
            format!("{who} was blocked for {BLOCKED_MS} ms and lost its lease: {id}\n{told}");
        context.recorder.fault(what);
    }
}

/// Python forks under load; the child works with inherited handles.
pub(in crate::faults) async fn fork(context: &mut FaultContext<'_>) -> Result<(), Error> {
    let worker_slots = context.pool.able("fork");
    while context.goes_on() {
        for worker_slot in &worker_slots {
            fork_one(context, worker_slot).await?;
        }
        context.rest(0..50).await;
    }
    Ok(())
}

async fn fork_one(
    context: &mut FaultContext<'_>,
    worker_slot: &Arc<WorkerSlot>,
) -> Result<(), Error> {
    let process = worker_slot.process().await.ok_or("the process is gone")?;
    let load = context.load.clone();
    let worker = Worker { load: &load, worker_slot, process: &process };
    let lease =
        |name: &str| json!({ "op": "lease", "duration_ms": 1_000, "wait_ms": 500, "as": name });
    // A lease of the parent; the child may complete it too.
    let held = worker.lease_as(lease("parents"), None, "parents").await.unwrap_or_default();
    let recorder = context.recorder.clone();
    let mut requests = vec![Value::Null; 2];
    requests[0] = lease("childs");
    requests[1] = match held.first() {
        Some(held) => json!({ "op": "complete", "lease": held.handle }),
        None => json!({ "op": "counts" }),
    };
    let began = recorder.now();
    let (status, answers) = forked(&process, requests).await?;
    if status != json!(0) {
        recorder.fault(format!("a child of {} ended with {status}", worker_slot.name));
    }
    worker.note_leases(answers[0].clone(), began, 1_000, false, None, "childs");
    if let Some(held) = held.first() {
        worker.note(answers[1].clone(), began, &[held.lease], How::Complete, false, &[]);
        worker.one(held.lease, &held.handle, How::Complete, &mut context.rng).await;
    }
    context.times += 1;
    Ok(())
}

type Told = crate::faults::worker_pool::Told;

/// The exit status of a child, and its answers to these requests.
async fn forked(process: &Testee, requests: Vec<Value>) -> Result<(Value, Vec<Told>), Error> {
    const PATIENCE: Duration = Duration::from_secs(60);
    let mut asked = Vec::new();
    let mut pending = Vec::new();
    for mut request in requests {
        request["client"] = "w".into();
        request["queue"] = QUEUE.into();
        pending.push(process.expect(&mut request));
        asked.push(request);
    }
    let fork = json!({ "op": "fork", "requests": asked });
    let status = process.ask(fork).await?;
    let status = tokio::time::timeout(PATIENCE, status.until_ended()).await;
    let status = status.map_err(|_| "a forked child does not end")?.ok_or("it died of a fork")?;
    let status = status.map_err(|failure| failure.message)?;
    let mut answers = Vec::new();
    for pending in pending {
        // After the end of the child no answer can arrive.
        answers.push(
            tokio::time::timeout(Duration::from_secs(2), pending.until_ended())
                .await
                .ok()
                .flatten(),
        );
    }
    Ok((status, answers))
}
