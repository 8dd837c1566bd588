//! The counts of queues, for scripts that keep those of a page fresh.

use std::collections::BTreeMap;

use axum::response::Response;
use serde::Serialize;

use super::selection::Selection;
use crate::context::Context;
use crate::failure::Failure;
use crate::json::json;
use crate::numbers::Numbers;

#[derive(Serialize)]
struct All {
    queues: BTreeMap<String, Numbers>,
}

pub(crate) async fn overview(cx: Context) -> Result<Response, Failure> {
    let selection = Selection::read(&cx).await?;
    let counts = selection.counts(&cx.app).await?;
    let readable = |(name, counts): (String, Result<_, Failure>)| Some((name, counts.ok()?));
    let counts = counts.into_iter().filter_map(readable);
    let queues = counts.map(|(name, counts)| (name, Numbers::from(&*counts))).collect();
    json(&cx, &All { queues })
}

pub(crate) async fn queue(cx: Context) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let counts = cx.app.counts(queue.name()).await?;
    json(&cx, &All { queues: BTreeMap::from([(queue.name().to_owned(), Numbers::from(&*counts))]) })
}
