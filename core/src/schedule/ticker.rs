//! Adding the items of schedules that are due.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::body::Body;
use super::ticks::tick;
use crate::Result;
use crate::dispatch::QueueContext;
use crate::engine::{StoredSchedule, Swap, WhichSchedules};

/// After an attempt that has failed, such as on a full server. Leases that find a schedule due ask again then, too.
const PAUSE: Duration = Duration::from_secs(1);
/// How often it looks again whether more is due.
const ROUNDS: usize = 100;

/// A lease has seen that a schedule is due: processes it in the background.
pub(crate) fn begin_to_tick(queue: &Arc<QueueContext>) {
    if queue.is_ticking.swap(true, Ordering::Relaxed) {
        return;
    }
    let queue = queue.clone();
    let context = queue.context.clone();
    context.spawn(async move {
        if let Err(error) = tick_due(&queue).await {
            tracing::warn!(queue = %queue.queue, %error, "schedules that are due could not be processed");
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = queue.context.closed.cancelled() => {}
            }
        }
        queue.is_ticking.store(false, Ordering::Relaxed);
    });
}

/// Processes all schedules that are due. Others may do the same at the same time. Returns the time until the next one is due;
/// `None`: none will be.
pub(crate) async fn tick_due(queue: &QueueContext) -> Result<Option<Duration>> {
    let engine = &queue.context.engine;
    for _ in 0..ROUNDS {
        let read = engine.read_schedules(&queue.queue, &WhichSchedules::Due, true).await?;
        if read.deferred && engine.distribute(&queue.queue).await? {
            continue;
        }
        if read.found.is_empty() {
            let next = read.next_ms.map(|at| at.saturating_sub(read.now_ms));
            return Ok(next.map(Duration::from_millis));
        }
        let mut failed = None;
        for stored in &read.found {
            let Some(swap) = step(queue, stored, read.now_ms) else { continue };
            // If another version is stored by now, somebody else has done it.
            match queue.swap_schedule(&swap, queue.context.until()).await {
                Err(error) if !error.kind().is_retryable() => {
                    // The others are not concerned.
                    let (queue, name) = (&queue.queue, &stored.name);
                    tracing::warn!(%queue, name, %error, "a schedule that is due adds nothing");
                    failed = Some(error);
                }
                swapped => drop(swapped?),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
    }
    Ok(Some(Duration::ZERO))
}

fn step(queue: &QueueContext, stored: &StoredSchedule, now: u64) -> Option<Swap> {
    if stored.version.is_empty() {
        // A time that is left of no schedule.
        return Some(Swap::deletion(stored));
    }
    let Some(body) = Body::read(stored) else {
        let (queue, name) = (&queue.queue, &stored.name);
        tracing::warn!(%queue, name, "a schedule cannot be read: it adds nothing until it is put again");
        return Some(Swap::new(stored, stored.body.clone(), None));
    };
    tick(stored, &body, now)
}
