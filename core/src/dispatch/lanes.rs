//! The lanes of one queue.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::context::Context;
use super::lane::Lane;
use crate::engine::RequestId;
use crate::name::QueueName;
use crate::{Error, Result};

/// Everything that sends requests holds this. When nothing does any more, the engine deletes the lanes.
pub(crate) struct Lanes {
    context: Arc<Context>,
    queue: QueueName,
    /// A lane in use belongs to its user. One that never comes back is never forgotten by the client.
    idle: Mutex<Vec<Lane>>,
    /// The engine may keep something for the queue.
    used: AtomicBool,
}

impl Lanes {
    pub(crate) fn new(context: &Arc<Context>, queue: &QueueName) -> Arc<Lanes> {
        Arc::new(Lanes {
            context: context.clone(),
            queue: queue.clone(),
            idle: Mutex::default(),
            used: AtomicBool::new(false),
        })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Lane>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The queue is about to be used for the first time.
    pub(crate) fn begin_use(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// A lane for the caller alone, to be given to [`put_back`](Lanes::put_back) after the last answer:
    /// a lane for each call would be one more name to keep, here and on the engine.
    pub(crate) fn take(&self) -> Lane {
        let idle = self.idle().pop();
        idle.unwrap_or_else(|| self.context.lane_names.make())
    }

    pub(crate) fn put_back(&self, lane: Lane) {
        self.idle().push(lane);
    }

    /// Runs one operation on a lane of its own. If its outcome is unknown, or the caller does not wait
    /// for it, the engine goes on remembering the lane.
    pub(crate) async fn run<T>(
        &self,
        until: Instant,
        operation: impl AsyncFnOnce(&RequestId) -> Result<T>,
    ) -> Result<T> {
        let mut lane = self.take();
        let request_id = lane.next(until);
        let done = operation(&request_id).await;
        if done.as_ref().is_err_and(Error::outcome_unknown) {
            lane.unknown();
        }
        self.put_back(lane);
        done
    }

    /// Has the engine forget the queue and the lanes that no request can come on any more.
    pub(crate) async fn retire(&self) -> Result<()> {
        let (engine, names) = (&self.context.engine, self.names());
        engine.retire(&self.queue, &names).await
    }

    fn names(&self) -> Vec<Arc<str>> {
        let idle = std::mem::take(&mut *self.idle());
        idle.into_iter().filter_map(Lane::into_unused_name).collect()
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        let (context, names) = (self.context.clone(), self.names());
        // A client that is closed has done it, or cannot any more.
        if context.closed.is_cancelled() || !self.used.load(Ordering::Relaxed) {
            return;
        }
        let queue = self.queue.clone();
        self.context.spawn(async move {
            let Ok(_permit) = context.retiring.acquire().await else { return };
            // Whatever is left is dropped when it has been idle for long.
            if let Err(error) = context.engine.retire(&queue, &names).await {
                tracing::debug!(%queue, %error, "lanes were left behind");
            }
        });
    }
}
