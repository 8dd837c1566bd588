//! Adding items.

use super::work_queue::{WorkQueue, only};
use crate::Result;
use crate::item::Item;
use crate::options::{MAX_BATCH, MAX_BATCH_BYTES};

impl WorkQueue {
    /// Adds an item. True: it is stored and will be delivered. False: an item with this id exists, whatever its
    /// state, and was not changed.
    ///
    /// Calls that one client makes at the same time on a queue, whatever their kind, are executed in the order in
    /// which they were first polled: see [`WorkQueue`].
    ///
    /// # Errors
    /// `Invalid` for an id, data or option outside its limits.
    pub async fn add_item(&self, item: Item) -> Result<bool> {
        item.validate(&self.dispatch.queue, self.dispatch.context.max_data)?;
        let until = self.dispatch.open().await?;
        only(self.dispatch.add.call(vec![item], until).await?)
    }

    /// Checks that the item is within its limits. For bindings that add the items of several callers as one batch:
    /// a bad item must fail only its own call.
    ///
    /// # Errors
    /// `Invalid`, as [`add_item`](WorkQueue::add_item) gives it.
    pub fn accepts(&self, item: &Item) -> Result<()> {
        item.validate(&self.dispatch.queue, self.dispatch.context.max_data)
    }

    /// Adds many items; the answers are in their order. Each chunk of at most 1,000 items and 16 MiB is one atomic
    /// step. Of two items with the same id only the first can be added.
    ///
    /// # Errors
    /// `Invalid` if any of them is outside its limits; then none is added. After another error,
    /// earlier chunks have been added.
    pub async fn add_items(&self, items: impl IntoIterator<Item = Item>) -> Result<Vec<bool>> {
        let items: Vec<Item> = items.into_iter().collect();
        for item in &items {
            item.validate(&self.dispatch.queue, self.dispatch.context.max_data)?;
        }
        let mut until = self.dispatch.open().await?;
        let mut added = Vec::with_capacity(items.len());
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        for item in items {
            let size = item.size();
            if !chunk.is_empty() && (chunk.len() == MAX_BATCH || bytes + size > MAX_BATCH_BYTES) {
                added.extend(self.dispatch.add.call(std::mem::take(&mut chunk), until).await?);
                until = self.dispatch.context.until();
                bytes = 0;
            }
            bytes += size;
            chunk.push(item);
        }
        if !chunk.is_empty() {
            added.extend(self.dispatch.add.call(chunk, until).await?);
        }
        Ok(added)
    }
}
