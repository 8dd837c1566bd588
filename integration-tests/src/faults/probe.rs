//! At the end of a run: is every id and every unique key free again that nothing has?

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::{Value, json};

use super::history::{History, Name, Probe, Span};
use super::recorder::Recorder;
use super::worker_pool::{HEALED, ask, insist, outcome_of};
use crate::conformance::testee::Testee;
use crate::conformance::value::hex;
use crate::error::Error;

/// As many as fit into one call of every language.
const BATCH: usize = 1_000;

/// Adds an item with each id and one with each unique key of the run, and removes them.
pub(super) async fn probe(first: &Testee, recorder: &Recorder) -> Result<(), Error> {
    let names = names(&recorder.history());
    for (batch, names) in names.chunks(BATCH).enumerate() {
        let id = |i: usize, name: &Name| match name {
            Name::Id(id) => hex(id.as_bytes()),
            Name::Key(_) => hex(format!("probe-{batch}.{i}").as_bytes()),
        };
        let item = |(i, name): (usize, &Name)| {
            let mut item = json!({ "id": id(i, name), "delay_ms": 3_600_000 });
            if let Name::Key(key) = name {
                item["unique"] = hex(key.as_bytes()).into();
            }
            item
        };
        let items: Value = names.iter().enumerate().map(item).collect();
        let began = recorder.now();
        let told = ask(first, recorder, json!({ "op": "add_items", "items": items })).await;
        let span = Span { began, ended: Some(recorder.now()) };
        let mut added = Vec::new();
        for (i, name) in names.iter().enumerate() {
            let outcome = outcome_of(&told, i);
            if outcome.may_be_done() {
                added.push(id(i, name));
            }
            recorder.history().probes.push(Probe { span, name: name.clone(), outcome });
        }
        remove(first, recorder, &added).await?;
    }
    Ok(())
}

/// Until the answers say that they are gone.
async fn remove(first: &Testee, recorder: &Recorder, ids: &[String]) -> Result<(), Error> {
    let end = Instant::now() + HEALED;
    while !ids.is_empty() && Instant::now() < end {
        let request = json!({ "op": "remove_many", "ids": ids });
        let gone = insist(first, recorder, request, HEALED).await?;
        if gone.as_array().into_iter().flatten().all(|gone| *gone == false) {
            return Ok(());
        }
    }
    if ids.is_empty() { Ok(()) } else { Err("the last items cannot be removed".into()) }
}

fn names(history: &History) -> Vec<Name> {
    let ids: BTreeSet<_> = history.adds.iter().map(|add| &add.id).collect();
    let keys: BTreeSet<_> =
        history.adds.iter().filter_map(|add| add.options.key.as_ref()).collect();
    let ids = ids.into_iter().map(|id| Name::Id(id.clone()));
    ids.chain(keys.into_iter().map(|key| Name::Key(key.clone()))).collect()
}
