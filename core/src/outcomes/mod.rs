//! Waiting for the ends of items.
//!
//! One task for each queue registers the ids that calls wait for, all in a few requests, and is told of their ends by the
//! engine. It also asks about each id now and then, because a report may be lost.

mod state;
mod task;
#[cfg(test)]
mod tests;
mod wait;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::sync::Notify;

use self::state::State;
pub(crate) use self::wait::Wait;
use crate::dispatch::Context;
use crate::lock::lock;
use crate::name::QueueName;
use crate::{Error, Result};

/// The queues with waits. A queue is in it while its task runs. Code that also locks a queue's state locks this first.
#[derive(Default)]
pub(crate) struct OutcomeWaits(Mutex<HashMap<QueueName, Arc<QueueWaits>>>);

/// The waits for items of one queue.
#[derive(Default)]
pub(crate) struct QueueWaits {
    state: Mutex<State>,
    /// There is something new to ask.
    changed: Notify,
    /// The engine was asked, so the place is known behind which reports are new.
    asked: Notify,
    /// There is more to read of items whose ends were reported.
    reads: Notify,
    /// Reports are to be read from an earlier place.
    rewound: Notify,
}

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
