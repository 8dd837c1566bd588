//! Light and deep cleans.

use super::WorkQueue;
use crate::Result;
use crate::clean::{DeepReport, LightReport};

impl WorkQueue {
    /// Makes due items ready and reclaims expired leases, for queues that nobody is waiting on.
    /// Costs by what is due or expired, not by what is queued or leased.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn light_clean(&self) -> Result<LightReport> {
        self.dispatch.open().await?;
        let context = &self.dispatch.context;
        let mut lane = context.lanes.take();
        let mut total = LightReport::default();
        loop {
            let stamp = lane.next(context.until());
            let (step, more) = context.engine.light_clean(&self.dispatch.queue, &stamp).await?;
            total.promoted += step.promoted;
            total.expired += step.expired;
            total.died += step.died;
            total.next_in = step.next_in;
            if !more {
                context.lanes.put_back(lane);
                return Ok(total);
            }
        }
    }

    /// Finds and mends every broken invariant, in small atomic steps: safe under full load and
    /// beside other cleaners. On a sound queue it changes nothing. Takes about as long as reading
    /// the whole queue, and 8 bytes of memory for each ready item.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn deep_clean(&self) -> Result<DeepReport> {
        self.dispatch.open().await?;
        self.dispatch.context.engine.audit(&self.dispatch.queue, true).await
    }

    /// [`deep_clean`](WorkQueue::deep_clean) that only looks.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn check(&self) -> Result<DeepReport> {
        self.dispatch.open().await?;
        self.dispatch.context.engine.audit(&self.dispatch.queue, false).await
    }
}
