//! Queries, which change nothing.

use bytes::Bytes;

use super::work_queue::{WorkQueue, only};
use crate::item::{Counts, ItemInfo, check_id};
use crate::options::MAX_BATCH;
use crate::query_options::GetOptions;
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
        only(self.get_many([id]).await?)
    }

    /// Inspects many items without leasing them; the answers stand in the order of the ids, `None` for an id
    /// without an item. It works in steps of up to 1,000 ids and 16 MiB of data, so it is no snapshot.
    ///
    /// # Errors
    /// As for [`get`](WorkQueue::get).
    pub async fn get_many<T: AsRef<[u8]>>(
        &self,
        ids: impl IntoIterator<Item = T>,
    ) -> Result<Vec<Option<ItemInfo>>> {
        self.get_many_with(ids, GetOptions::new()).await
    }

    /// As [`get_many`](WorkQueue::get_many), with options.
    ///
    /// # Errors
    /// As for [`get`](WorkQueue::get).
    pub async fn get_many_with<T: AsRef<[u8]>>(
        &self,
        ids: impl IntoIterator<Item = T>,
        options: GetOptions,
    ) -> Result<Vec<Option<ItemInfo>>> {
        let ids = checked_ids(ids)?;
        let dispatch = &self.dispatch;
        dispatch.open().await?;
        let mut found = Vec::with_capacity(ids.len());
        while found.len() < ids.len() {
            let rest = &ids[found.len()..];
            let step = &rest[..rest.len().min(MAX_BATCH)];
            let engine = &dispatch.context.engine;
            let part = dispatch.look(engine.get(&dispatch.queue, step, options.data)).await?;
            if part.is_empty() {
                return Err(Error::internal("the engine gave no answer"));
            }
            found.extend(part);
        }
        Ok(found)
    }
}

pub(super) fn checked_ids<T: AsRef<[u8]>>(ids: impl IntoIterator<Item = T>) -> Result<Vec<Bytes>> {
    ids.into_iter()
        .map(|id| check_id(id.as_ref()).map(|()| Bytes::copy_from_slice(id.as_ref())))
        .collect()
}
