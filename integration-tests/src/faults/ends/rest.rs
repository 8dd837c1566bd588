//! The end of a run: the queues become empty, and so do their outboxes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::block_in_place;

use super::super::place::Place;
use super::super::recorder::Recorder;
use super::super::worker_pool::{HEALED, Told, WorkerPool, ask_in};
use super::history::Left;
use super::load::{Load, QUEUES};
use crate::conformance::testee::Testee;
use crate::conformance::value::unhex;
use crate::error::Error;

/// Waits until nothing waits or is leased in any queue. Twice, because what ends in one queue may be added to another.
pub(super) async fn drain(pool: &WorkerPool, recorder: &Recorder) -> Result<(), Error> {
    let first = pool.worker_slots[0].process().await.ok_or("the first process is gone")?;
    let (end, mut before) = (Instant::now() + HEALED, None);
    loop {
        let all = counts(&first, recorder).await?;
        let is_idle = |counts: &Value| {
            ["ready", "held", "delayed", "leased"].iter().all(|state| counts[state] == 0)
        };
        let added: u64 = all.iter().filter_map(|counts| counts["totals"]["added"].as_u64()).sum();
        if !all.iter().all(is_idle) {
            before = None;
        } else if before.replace(added) == Some(added) {
            return Ok(());
        }
        if Instant::now() >= end {
            return Err(format!("not drained in {HEALED:?}: {all:?}").into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// When all work has ended: what is left, and whether the queues are sound.
pub(super) async fn take_stock(place: &Place, pool: &WorkerPool, load: &Load) -> Result<(), Error> {
    let (recorder, first) = (&load.recorder, pool.worker_slots[0].process().await);
    let first = first.ok_or("the first process is gone")?;
    let kept = kept(place);
    if !kept.is_empty() {
        recorder.fault(format!("there are still {kept:?}"));
    }
    let mut left = Vec::new();
    for queue in QUEUES {
        let check = answer(&first, recorder, queue, json!({ "op": "check" })).await?;
        if check["sound"] != true {
            recorder.fault(format!("check found {} in {queue}", check["found"]));
        }
        for state in ["dead", "completed"] {
            list(&first, recorder, queue, state, &mut left).await?;
        }
    }
    let all = counts(&first, recorder).await?;
    let added = all.iter().filter_map(|counts| counts["totals"]["added"].as_u64()).sum();
    let mut history = load.history();
    (history.left, history.added) = (left, Some(added));
    Ok(())
}

/// Keys that exist only while something is to be added.
fn kept(place: &Place) -> Vec<String> {
    let mut kept = Vec::new();
    for server in place.all() {
        for of in ["outbox", "outgoing", "deferred"] {
            let keys = block_in_place(|| server.cli(&["KEYS", &format!("*{{*}}:{of}")]));
            kept.extend(keys.lines().filter(|key| !key.is_empty()).map(str::to_owned));
        }
    }
    kept
}

async fn counts(first: &Testee, recorder: &Recorder) -> Result<Vec<Value>, Error> {
    let mut all = Vec::new();
    for queue in QUEUES {
        all.push(answer(first, recorder, queue, json!({ "op": "counts" })).await?);
    }
    Ok(all)
}

async fn list(
    first: &Testee,
    recorder: &Recorder,
    queue: &str,
    state: &str,
    left: &mut Vec<Left>,
) -> Result<(), Error> {
    let text = |value: &Value| -> Result<String, Error> {
        let bytes = unhex(value.as_str().unwrap_or_default())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let mut request = json!({ "op": "list", "state": state, "limit": 500 });
    loop {
        let page = answer(first, recorder, queue, request.clone()).await?;
        for item in page["items"].as_array().into_iter().flatten() {
            let (name, id, queue) = (text(&item["data"])?, text(&item["id"])?, queue.to_owned());
            left.push(Left { name, queue, id, is_dead: state == "dead" });
        }
        request["cursor"] = page["cursor"].clone();
        if request["cursor"].is_null() {
            return Ok(());
        }
    }
}

/// The answer to a request that changes nothing, as soon as there is one.
async fn answer(
    first: &Testee,
    recorder: &Recorder,
    queue: &str,
    request: Value,
) -> Result<Value, Error> {
    let end = Instant::now() + HEALED;
    loop {
        match ask_in(first, recorder, queue, request.clone()).await as Told {
            Some(Ok(value)) => return Ok(value),
            Some(Err(failure)) if Instant::now() >= end => return Err(failure.message.into()),
            Some(Err(_)) => tokio::time::sleep(Duration::from_millis(50)).await,
            None => return Err("the first process has ended".into()),
        }
    }
}
