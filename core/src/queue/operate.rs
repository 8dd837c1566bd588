//! What operators do to a queue.

use bytes::Bytes;

use super::{WorkQueue, only};
use crate::Result;
use crate::item::{State, check_id};
use crate::options::MAX_BATCH;

impl WorkQueue {
    /// Removes an item in whatever state it is. False: there is no item with this id. A holder of
    /// its lease gets false or `LeaseLost` from then on.
    ///
    /// # Errors
    /// `Invalid` for an id outside 1 to 512 bytes.
    pub async fn remove(&self, id: impl AsRef<[u8]>) -> Result<bool> {
        only(self.remove_many([id]).await?)
    }

    /// Removes many items; the answers stand in their order.
    ///
    /// # Errors
    /// As for [`remove`](WorkQueue::remove).
    pub async fn remove_many<T: AsRef<[u8]>>(
        &self,
        ids: impl IntoIterator<Item = T>,
    ) -> Result<Vec<bool>> {
        let ids = checked_ids(ids)?;
        self.dispatch.open().await?;
        let mut removed = Vec::with_capacity(ids.len());
        for chunk in ids.chunks(MAX_BATCH) {
            removed.extend(self.dispatch.remove.call(chunk.to_vec()).await?);
        }
        Ok(removed)
    }

    /// Makes dead items ready again, at the back of their priority and with their attempts counted
    /// anew. False for an id that is not there, or not dead.
    ///
    /// # Errors
    /// `Invalid` for an id outside 1 to 512 bytes.
    pub async fn requeue<T: AsRef<[u8]>>(
        &self,
        ids: impl IntoIterator<Item = T>,
    ) -> Result<Vec<bool>> {
        let ids = checked_ids(ids)?;
        self.dispatch.open().await?;
        let mut requeued = Vec::with_capacity(ids.len());
        for chunk in ids.chunks(MAX_BATCH) {
            requeued.extend(self.dispatch.requeue.call(chunk.to_vec()).await?);
        }
        Ok(requeued)
    }

    /// Stops leasing from this queue, for every client, until [`resume`](WorkQueue::resume).
    /// Adding, completing and reclaiming go on; calls that lease wait, or get nothing.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn pause(&self) -> Result<()> {
        self.dispatch.open().await?;
        self.dispatch.context.engine.set_paused(&self.dispatch.queue, true).await
    }

    /// Goes on leasing after [`pause`](WorkQueue::pause); waiting calls wake.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn resume(&self) -> Result<()> {
        self.dispatch.open().await?;
        self.dispatch.context.engine.set_paused(&self.dispatch.queue, false).await
    }

    /// Removes every item of a state, as many as there are when it begins, and returns how many.
    /// In steps: other clients go on meanwhile.
    ///
    /// # Errors
    /// See [`WorkQueue`]. After an error, some have been removed.
    pub async fn purge(&self, state: State) -> Result<u64> {
        let counts = self.counts().await?;
        let context = &self.dispatch.context;
        let mut lane = context.lanes.take();
        let mut left = match state {
            State::Ready => counts.ready,
            State::Delayed => counts.delayed,
            State::Leased => counts.leased,
            State::Dead => counts.dead,
        };
        let mut removed = 0;
        while left > 0 {
            let stamp = lane.next(context.until());
            let limit = left.min(MAX_BATCH as u64);
            let (gone, seen) =
                context.engine.purge(&self.dispatch.queue, state, limit, &stamp).await?;
            if seen == 0 {
                break;
            }
            removed += gone;
            left = left.saturating_sub(gone);
        }
        context.lanes.put_back(lane);
        Ok(removed)
    }
}

fn checked_ids<T: AsRef<[u8]>>(ids: impl IntoIterator<Item = T>) -> Result<Vec<Bytes>> {
    ids.into_iter()
        .map(|id| check_id(id.as_ref()).map(|()| Bytes::copy_from_slice(id.as_ref())))
        .collect()
}
