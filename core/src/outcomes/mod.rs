//! Waiting for the ends of items.
//!
//! One task for each queue registers the ids that calls wait for, all in a few requests, and the engine reports
//! their ends. The task also asks about each id now and then, because a report may be lost.

mod state;
mod task;
#[cfg(test)]
mod tests;
mod wait;
pub(crate) mod waits;

use std::sync::Arc;

use bytes::Bytes;

pub(crate) use self::wait::Wait;
use crate::dispatch::Context;
use crate::lock::lock;
use crate::name::QueueName;
use crate::{Error, Result};

/// Begins to wait for the ends of these items.
pub(crate) fn begin(
    context: &Arc<Context>,
    queue: &QueueName,
    ids: &[Bytes],
    expect: bool,
) -> Result<Vec<Wait>> {
    let mut queues = lock(&context.outcome_waits.0);
    if context.closed.is_cancelled() {
        return Err(Error::closed());
    }
    let mut is_new = false;
    let waits = queues.entry(queue.clone()).or_insert_with(|| {
        is_new = true;
        Arc::default()
    });
    let mut state = lock(&waits.state);
    let begun = ids.iter().map(|id| Wait::new(waits, id, state.add(id, expect))).collect();
    drop(state);
    if is_new {
        context.spawn(task::run(context.clone(), queue.clone(), waits.clone()));
    } else {
        waits.changed.notify_one();
    }
    Ok(begun)
}
