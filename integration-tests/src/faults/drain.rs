//! The end of a run: the processes drain the queue, and what is left is collected.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::block_in_place;

use super::history::{Left, Span, Totals};
use super::load::Load;
use super::operate::read_item;
use super::place::{Place, Servers};
use super::probe::probe;
use super::recorder::Recorder;
use super::worker_pool::{HEALED, WorkerPool, insist};
use crate::conformance::testee::Testee;
use crate::conformance::value::unhex;
use crate::error::Error;

/// Most keys of a drained queue, and of the rest of the namespace.
const FEW_KEYS: u64 = 30;

/// After the fault: the surviving processes drain the queue.
pub(super) async fn drain(pool: &WorkerPool, load: &Load) -> Result<(), Error> {
    let recorder = &load.recorder;
    // Every process must get an answer again, sooner or later.
    for worker_slot in &pool.worker_slots {
        let process =
            worker_slot.process().await.ok_or_else(|| format!("{} is gone", worker_slot.name))?;
        let asked = insist(&process, recorder, json!({ "op": "counts" }), HEALED).await;
        asked.map_err(|error| format!("{} is stuck: {error}", worker_slot.name))?;
    }
    let first = pool.worker_slots[0].process().await.ok_or("the first process is gone")?;
    if let Err(error) = until_drained(&first, recorder).await {
        recorder.fault(error.to_string());
    }
    Ok(())
}

/// When all work has ended: collects the remaining items and checks that the queue is sound.
pub(super) async fn take_stock(
    place: &Place,
    pool: &WorkerPool,
    recorder: &Recorder,
) -> Result<(), Error> {
    let first = pool.worker_slots[0].process().await.ok_or("the first process is gone")?;
    let counts = insist(&first, recorder, json!({ "op": "counts" }), HEALED).await?;
    check(&first, recorder).await?;
    let began = recorder.now();
    let left = left(&first, recorder).await?;
    let total = |name: &str| counts["totals"][name].as_u64().unwrap_or_default();
    let left_at = Some(Span { began, ended: Some(recorder.now()) });
    let totals = Some(Totals {
        added: total("added"),
        leased: total("leased"),
        completed: total("completed"),
        failed: total("failed"),
        expired: total("expired"),
        died: total("died"),
        removed: total("removed"),
        replaced: total("replaced"),
        expired_unleased: total("expired_unleased"),
        cancelled: total("cancelled"),
    });
    {
        let mut history = recorder.history();
        (history.left, history.left_at, history.totals) = (left, left_at, totals);
    }
    probe(&first, recorder).await?;
    check(&first, recorder).await?;
    if let Servers::One(_) | Servers::Tls(_) = &place.servers
        && let [server] = place.all()[..]
    {
        let keys: u64 = block_in_place(|| server.cli(&["DBSIZE"])).parse()?;
        if keys > FEW_KEYS {
            recorder.fault(format!("{keys} keys are left of a drained queue"));
        }
    }
    Ok(())
}

async fn check(first: &Testee, recorder: &Recorder) -> Result<(), Error> {
    let check = insist(first, recorder, json!({ "op": "check" }), HEALED).await?;
    if check["sound"] != true {
        recorder.fault(format!("check found {}", check["found"]));
    }
    Ok(())
}

/// Returns when the queue is drained.
pub(super) async fn until_drained(first: &Testee, recorder: &Recorder) -> Result<(), Error> {
    let end = Instant::now() + HEALED;
    loop {
        let counts = insist(first, recorder, json!({ "op": "counts" }), HEALED).await?;
        if ["ready", "held", "delayed", "leased"].iter().all(|state| counts[state] == 0) {
            return Ok(());
        }
        if Instant::now() >= end {
            return Err(format!("not drained in {HEALED:?}: {counts}").into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The remaining items: only dead and retained ones, if all is well.
async fn left(first: &Testee, recorder: &Recorder) -> Result<Vec<Left>, Error> {
    let mut all = Vec::new();
    for state in ["ready", "held", "delayed", "leased", "dead", "completed", "cancelled"] {
        let mut list = json!({ "op": "list", "state": state, "limit": 500 });
        loop {
            let page = insist(first, recorder, list.clone(), HEALED).await?;
            for item in page["items"].as_array().into_iter().flatten() {
                let id = unhex(item["id"].as_str().unwrap_or_default())?;
                let seen = read_item(item).ok_or_else(|| format!("cannot read {item}"))?;
                all.push(Left { id: String::from_utf8_lossy(&id).into_owned(), seen });
            }
            list["cursor"] = page["cursor"].clone();
            if list["cursor"].is_null() {
                break;
            }
        }
    }
    Ok(all)
}
