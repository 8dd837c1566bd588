//! Waiting for the ends of items and groups.
//!
//! One task for each queue registers the ids that calls wait for, all in a few requests, and the engine reports
//! their ends. The task also asks about each id now and then, because a report may be lost.

mod load;
mod state;
mod task;
#[cfg(test)]
mod tests;
mod wait;
pub(crate) mod waits;

use std::sync::Arc;

use self::task::Task;
pub(crate) use self::wait::Wait;
use self::waits::QueueWaits;
use crate::dispatch::Context;
use crate::engine::Subject;
use crate::lock::lock;
use crate::name::QueueName;
use crate::{Error, Result};

/// Begins to wait for the ends of these items and groups.
pub(crate) fn begin(
    context: &Arc<Context>,
    queue: &QueueName,
    subjects: &[Subject],
    expect: bool,
) -> Result<Vec<Wait>> {
    let mut queues = lock(&context.outcome_waits.queues);
    if context.closed.is_cancelled() {
        return Err(Error::closed());
    }
    let mut task = None;
    let waits = queues.entry(queue.clone()).or_insert_with(|| {
        let waits = Arc::new(QueueWaits::new(&context.outcome_waits.load));
        let (context, queue) = (context.clone(), queue.clone());
        task = Some(Task { context, queue, waits: waits.clone() });
        waits
    });
    let asked_by = context.until();
    let mut state = lock(&waits.state);
    let begin = |subject| Wait::new(waits, subject, state.add(subject, expect), asked_by);
    let begun = subjects.iter().map(begin).collect();
    drop(state);
    waits.changed.notify_one();
    // A runtime that shuts down drops the task at once, which locks the queues.
    drop(queues);
    if let Some(task) = task {
        context.spawn(task.run());
    }
    Ok(begun)
}
