//! Queries, which change nothing.

use super::work_queue::WorkQueue;
use crate::item::{Counts, Cursor, ItemInfo, Page, State, check_id};
use crate::options::MAX_BATCH;
use crate::{Error, Result};

impl WorkQueue {
    /// How many items are ready.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn queue_len(&self) -> Result<u64> {
        Ok(self.counts().await?.ready)
    }

    /// How many items are leased, including expired ones that were not reclaimed yet.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn processing(&self) -> Result<u64> {
        Ok(self.counts().await?.leased)
    }

    /// How many items are in each state, the age of the oldest ready one, and totals.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn counts(&self) -> Result<Counts> {
        let dispatch = &self.dispatch;
        dispatch.look(dispatch.context.engine.counts(&dispatch.queue)).await
    }

    /// Inspects an item without leasing it. `None`: there is no item with this id.
    ///
    /// # Errors
    /// `Invalid` for an id outside 1 to 512 bytes.
    pub async fn get(&self, id: impl AsRef<[u8]>) -> Result<Option<ItemInfo>> {
        check_id(id.as_ref())?;
        let dispatch = &self.dispatch;
        dispatch.look(dispatch.context.engine.get(&dispatch.queue, id.as_ref())).await
    }

    /// Inspects up to `limit` items of a state, 1 to 1,000: ready ones in the order of leasing, others by time.
    /// Begins without a cursor, and continues with [`Page::cursor`]. Not a snapshot: items that move between two
    /// pages may be missed or shown twice. Any page may have fewer items than the limit.
    ///
    /// # Errors
    /// `Invalid` for a limit outside 1 to 1,000.
    pub async fn list(&self, state: State, cursor: Option<&Cursor>, limit: usize) -> Result<Page> {
        if limit == 0 || limit > MAX_BATCH {
            return Err(Error::invalid(format_args!(
                "a limit of {limit} items is not between 1 and {MAX_BATCH}"
            )));
        }
        let dispatch = &self.dispatch;
        dispatch.look(dispatch.context.engine.list(&dispatch.queue, state, cursor, limit)).await
    }
}
