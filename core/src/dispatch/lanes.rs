//! The lanes of one queue.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use super::context::Context;
use super::lane::Lane;
use crate::engine::RequestId;
use crate::lock::lock;
use crate::name::QueueName;
use crate::{Error, Result};

/// Held by everything that sends requests. When it is dropped, the engine deletes the lanes.
pub(crate) struct Lanes {
    context: Arc<Context>,
    queue: QueueName,
    /// A lane in use belongs to its user. The engine keeps a lane that is never put back.
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
        lock(&self.idle)
    }

    /// The queue is about to be used for the first time.
    pub(crate) fn begin_use(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// A lane for the caller alone, to be [put back](Lanes::put_back) after the last reply, so that client and
    /// engine need not keep one for each call.
    pub(crate) fn take(&self) -> Lane {
        let idle = self.idle().pop();
        idle.unwrap_or_else(|| self.context.lane_names.make())
    }

    pub(crate) fn put_back(&self, lane: Lane) {
        self.idle().push(lane);
    }

    /// Runs one operation on a lane of its own. If its outcome is unknown, or the caller is dropped, the engine
    /// keeps remembering the lane.
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

    /// Lets the engine forget the queue, and the lanes on which no request can arrive any more.
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
        let context = self.context.clone();
        if !context.is_here() {
            std::mem::forget((context, std::mem::take(&mut self.idle)));
            return;
        }
        let names = self.names();
        // A closed client has done it, or cannot do it any more.
        if context.closed.is_cancelled() || !self.used.load(Ordering::Relaxed) {
            return;
        }
        let queue = self.queue.clone();
        self.context.spawn(async move {
            let Ok(_permit) = context.retiring.acquire().await else { return };
            // The engine drops the rest after a long idle time.
            if let Err(error) = context.engine.retire(&queue, &names).await {
                tracing::debug!(%queue, %error, "lanes were left behind");
            }
        });
    }
}
