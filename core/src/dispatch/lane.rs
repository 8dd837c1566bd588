//! Lanes: names under which the engine remembers the answer to the last operation.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::Context;
use crate::engine::Stamp;
use crate::name::QueueName;
use crate::{Error, Result};

/// One lane. It has one operation in flight at a time; each has the next number.
#[derive(Debug)]
pub(crate) struct Lane {
    name: Arc<str>,
    number: u64,
    /// A copy of one of its requests may still be on its way.
    late_copy: Arc<AtomicBool>,
}

impl Lane {
    /// The stamp of the lane's next operation.
    pub(crate) fn next(&mut self, until: Instant) -> Stamp {
        self.number += 1;
        Stamp {
            lane: self.name.clone(),
            number: self.number,
            until,
            late_copy: self.late_copy.clone(),
        }
    }

    /// The outcome of its last operation is unknown: a copy of the request may still be on its way,
    /// and is not executed when it arrives as long as the engine remembers the lane.
    pub(crate) fn unknown(&mut self) {
        self.late_copy.store(true, Ordering::Relaxed);
    }
}

/// Makes the names of the lanes of one client, which no other client has.
#[derive(Debug)]
pub(crate) struct LaneNames {
    prefix: String,
    made: AtomicUsize,
}

impl LaneNames {
    pub(crate) fn new() -> Self {
        // From the operating system: a forked child would repeat what a generator in memory gives.
        let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
        LaneNames { prefix: format!("{random:016x}"), made: AtomicUsize::new(0) }
    }

    fn make(&self) -> Lane {
        let name = format!("{}.{}", self.prefix, self.made.fetch_add(1, Ordering::Relaxed));
        Lane { name: name.into(), number: 0, late_copy: Arc::default() }
    }
}

/// The lanes of one queue. Whoever sends requests holds this; when nobody does any more, the engine
/// forgets the lanes.
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
        operation: impl AsyncFnOnce(&Stamp) -> Result<T>,
    ) -> Result<T> {
        let mut lane = self.take();
        let stamp = lane.next(until);
        let done = operation(&stamp).await;
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
        let done = |lane: &Lane| !lane.late_copy.load(Ordering::Relaxed);
        idle.into_iter().filter(done).map(|lane| lane.name).collect()
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
