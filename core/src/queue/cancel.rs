//! Cancelling items.

use super::change::targets;
use super::work_queue::{WorkQueue, only};
use crate::Result;
use crate::item::ItemRef;
use crate::options::MAX_BATCH;

impl WorkQueue {
    /// Cancels an item. One that is ready, held or delayed is gone, or stays in the state `cancelled` for as long as it is
    /// [retained](crate::Item::retain). One that is leased is marked: if its holder completes it, it is completed; if
    /// the lease fails, is released or expires, the item ends as cancelled, and is neither retried nor dead. A holder
    /// that waits for [`Lease::cancelled`](crate::Lease::cancelled) learns of it.
    ///
    /// True: the item is cancelled now, or leased and marked, by this call or an earlier one. False: there is no item
    /// with this id, or it has ended, or is of another generation than the [`ItemRef`] says.
    ///
    /// # Errors
    /// As for [`remove`](WorkQueue::remove).
    pub async fn cancel(&self, item: impl Into<ItemRef>) -> Result<bool> {
        only(self.cancel_many([item]).await?)
    }

    /// Cancels many items; the answers stand in their order.
    ///
    /// # Errors
    /// As for [`remove`](WorkQueue::remove).
    pub async fn cancel_many<T: Into<ItemRef>>(
        &self,
        items: impl IntoIterator<Item = T>,
    ) -> Result<Vec<bool>> {
        let items = targets(items)?;
        let mut until = self.dispatch.open().await?;
        let mut cancelled = Vec::with_capacity(items.len());
        for chunk in items.chunks(MAX_BATCH) {
            cancelled.extend(self.dispatch.cancel.call_in_steps(chunk.to_vec(), until).await?);
            until = self.dispatch.context.until();
        }
        Ok(cancelled)
    }
}
