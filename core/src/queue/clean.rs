//! Light and deep cleans.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::work_queue::WorkQueue;
use crate::access::Role;
use crate::clean::{DeepClean, DeepReport, LightReport};
use crate::dispatch::{Dispatch, QueueContext};
use crate::engine::{RequestId, Turn};
use crate::options::{MAX_DELAY, MIN_LEASE, check_duration};
use crate::schedule::{Changes, tick_due};
use crate::{Error, Result};

const HOUR: Duration = Duration::from_secs(3600);
/// A deep clean in the background rests this many times as long as it works.
const PACE: u32 = 4;

/// The turn to clean deeply. If the clean is not finished, it is given back at once.
struct Held {
    dispatch: Arc<Dispatch>,
    ended: bool,
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let dispatch = self.dispatch.clone();
        self.dispatch.context.spawn(async move {
            // If this fails, the turn ends by itself in a minute.
            let _ = dispatch.context.engine.deep_turn(&dispatch.queue, Turn::Drop).await;
        });
    }
}

/// See [`Engine::audit`](crate::engine::Engine::audit).
async fn audit(queue: &QueueContext, mend: bool, pace: u32) -> Result<DeepReport> {
    let mut report = queue.context.engine.audit(&queue.queue, mend, pace).await?;
    Changes { queue, until: queue.context.until() }.check(mend, &mut report).await?;
    Ok(report)
}

impl WorkQueue {
    /// Makes due items ready, reclaims expired leases and adds the items of schedules that are due, for queues that nobody waits on. The cost depends on
    /// the items that are due or expired, not on those that are queued or leased. Works in steps of up to 1,000
    /// items, each of which has the client's time-out to itself.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn light_clean(&self) -> Result<LightReport> {
        let mut until = self.dispatch.open().await?;
        let (context, queue) = (&self.dispatch.context, &self.dispatch.queue);
        let mut total = LightReport::default();
        loop {
            let clean =
                async |request_id: &RequestId| context.engine.light_clean(queue, request_id).await;
            let (step, more) = self.dispatch.lanes.run(until, clean).await?;
            total.promoted += step.promoted;
            total.expired += step.expired;
            total.died += step.died;
            total.removed += step.removed;
            total.next_in = step.next_in;
            if !more {
                break;
            }
            until = context.until();
        }
        let next_tick = tick_due(&self.dispatch).await?;
        total.next_in = total.next_in.into_iter().chain(next_tick).min();
        Ok(total)
    }

    /// Finds and mends every broken invariant, in small atomic steps: safe under full load and beside other
    /// cleaners. Changes nothing in a sound queue. Takes about as long as reading the whole queue, and on Redis
    /// about 16 bytes of memory for each ready item. Each step has the client's time-out to itself.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn deep_clean(&self) -> Result<DeepReport> {
        self.dispatch.open().await?;
        audit(&self.dispatch, true, 0).await
    }

    /// [`deep_clean`](WorkQueue::deep_clean) that changes nothing.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn check(&self) -> Result<DeepReport> {
        self.dispatch.open().await?;
        audit(&self.dispatch, false, 0).await
    }

    /// Waits until an item or a schedule is due or a lease expires, so that a [`light_clean`] has something to do. A cleaner
    /// calls it in a loop. It sleeps without polling, and is notified of items that are due or expire earlier.
    /// Because it queries when it is called, a lost notification delays it by no more than `rest`, 1 ms to an
    /// hour. False: the rest is over.
    ///
    /// May be dropped at any point.
    ///
    /// [`light_clean`]: WorkQueue::light_clean
    ///
    /// # Errors
    /// `Invalid` for a rest outside 1 ms to an hour; else see [`WorkQueue`].
    pub async fn wait_until_due(&self, rest: Duration) -> Result<bool> {
        check_duration("a rest", rest, MIN_LEASE, HOUR)?;
        self.dispatch.open().await?;
        let context = &self.dispatch.context;
        let (engine, queue) = (&context.engine, &self.dispatch.queue);
        let until = Instant::now() + rest;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let next = engine.next_due(queue, left).await?;
            if next == Some(Duration::ZERO) {
                return Ok(true);
            }
            let known = next.filter(|next| *next < left);
            tokio::select! {
                () = tokio::time::sleep(known.unwrap_or(left)) => if known.is_none() {
                    return Ok(false);
                },
                () = engine.wait_due(queue) => {}
                () = context.closed.cancelled() => return Err(Error::closed()),
            }
        }
    }

    /// A [`deep_clean`](WorkQueue::deep_clean), unless one was done within this interval, or another cleaner is
    /// doing it: any number of cleaners together do it once. It pauses often, so that workers keep most of the
    /// engine for themselves. If it is dropped or killed, another cleaner can do it a minute later. The interval
    /// is at most 366 days; with zero, only a clean in progress prevents it.
    ///
    /// # Errors
    /// `Invalid` for a longer interval; else see [`WorkQueue`].
    pub async fn deep_clean_if_due(&self, interval: Duration) -> Result<DeepClean> {
        check_duration("an interval", interval, Duration::ZERO, MAX_DELAY)?;
        self.dispatch.open().await?;
        let (engine, queue) = (&self.dispatch.context.engine, &self.dispatch.queue);
        let wait = engine.deep_turn(queue, Turn::Take { interval }).await?;
        if !wait.is_zero() {
            return Ok(DeepClean::NotYet(wait));
        }
        let mut held = Held { dispatch: self.dispatch.clone(), ended: false };
        let audit = audit(&self.dispatch, true, PACE);
        tokio::pin!(audit);
        let outcome = loop {
            tokio::select! {
                outcome = &mut audit => break outcome,
                () = tokio::time::sleep(Turn::LASTS / 3) => {
                    engine.deep_turn(queue, Turn::Keep).await?;
                }
            }
        };
        let report = outcome?;
        engine.deep_turn(queue, Turn::Done).await?;
        held.ended = true;
        Ok(DeepClean::Done(report))
    }

    /// The rights that the user of this client lacks on this queue, as words for the server's `ACL SETUSER`, such
    /// as `+hset`. Empty if nothing is missing, and always on the embedded engine. Changes nothing. Without
    /// `+eval` it cannot find out about other rights.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    pub async fn missing_rights(&self, role: Role) -> Result<Vec<String>> {
        let context = &self.dispatch.context;
        context.check_open()?;
        context.engine.missing_rights(&self.dispatch.queue, role).await
    }
}
