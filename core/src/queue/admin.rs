//! Operations of operators on all items of a queue.

use super::work_queue::WorkQueue;
use crate::Result;
use crate::engine::RequestId;
use crate::item::State;
use crate::options::MAX_BATCH;

/// How [`WorkQueue::drop_queue_with`] drops a queue.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DropOptions {
    /// Also drops follow-ups for other queues that could not be delivered: they are lost. Default: no.
    pub force: bool,
}

impl DropOptions {
    /// The defaults.
    pub fn new() -> Self {
        DropOptions::default()
    }

    /// Also drops follow-ups for other queues that could not be delivered.
    pub fn force(mut self) -> Self {
        self.force = true;
        self
    }
}

impl WorkQueue {
    /// Deletes the queue with everything in it: items in every state, counts, totals, settings, the pause, and its name,
    /// which [`Client::queues`](crate::Client::queues) no longer lists. True: the queue existed when this call
    /// began, and is gone. False: it did not exist.
    ///
    /// Holders of its leases get false or `LeaseLost` from then on. Calls that wait for an item continue to
    /// wait: the queue exists again as soon as an item is added. That is a new queue, which a late or repeated
    /// request of this call does not affect.
    ///
    /// Items that have ended may have [follow-ups for other queues](crate::Item::queue) that were not delivered yet. They are
    /// delivered first. Items of a queue that has had [members of groups](crate::Item::in_group) are purged first, so that their
    /// ends are reported.
    ///
    /// # Errors
    /// See [`WorkQueue`]. After an error, the queue may or may not exist; call again. `Unavailable`, and the queue
    /// exists, if follow-ups cannot be delivered now.
    pub async fn drop_queue(&self) -> Result<bool> {
        self.drop_queue_with(DropOptions::default()).await
    }

    /// [`drop_queue`](WorkQueue::drop_queue) with options.
    ///
    /// # Errors
    /// As for [`drop_queue`](WorkQueue::drop_queue).
    pub async fn drop_queue_with(&self, options: DropOptions) -> Result<bool> {
        self.dispatch.context.check_open()?;
        let (engine, queue) = (&self.dispatch.context.engine, &self.dispatch.queue);
        let mut purged = false;
        let dropped = loop {
            match engine.drop_queue(queue, options.force, purged).await? {
                Some(dropped) => break dropped,
                // The ends of members are to be reported to their groups, step by step.
                None => purged = self.purge_all().await? == 0,
            }
        };
        self.client.release(&self.dispatch);
        Ok(dropped)
    }

    async fn purge_all(&self) -> Result<u64> {
        let mut removed = 0;
        for state in State::ALL {
            removed += self.purge(state).await?;
        }
        Ok(removed)
    }

    /// Removes every item that has a state when it begins, and returns how many. What is added to the queue meanwhile stays,
    /// also [follow-ups](crate::Item::follow_up) of the removed items. Works in steps of up to 1,000 items: other clients can
    /// continue meanwhile, and each step has the client's time-out to itself.
    ///
    /// # Errors
    /// See [`WorkQueue`]. After an error, some items have been removed.
    pub async fn purge(&self, state: State) -> Result<u64> {
        let mut left = self.counts().await?.of(state);
        let (context, queue) = (&self.dispatch.context, &self.dispatch.queue);
        let (mut removed, mut next) = (0, None);
        // That there is nothing to remove may also have to be confirmed.
        let mut more = left > 0 || context.engine.confirms();
        while more {
            let (limit, from) = (left.min(MAX_BATCH as u64), next.as_deref());
            let step = async |request_id: &RequestId| {
                context.engine.purge(queue, state, limit, from, request_id).await
            };
            let purged = self.dispatch.lanes.run(context.until(), step).await?;
            removed += purged.removed;
            left = left.saturating_sub(purged.removed);
            next = purged.next;
            more = left > 0 && next.is_some();
        }
        Ok(removed)
    }
}
