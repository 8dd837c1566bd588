//! Operations of operators on items: remove, requeue, bury, revise.

use std::sync::Arc;

use super::settle::cut;
use super::work_queue::{WorkQueue, only};
use crate::Result;
use crate::engine::{Bury, Revise, Target};
use crate::item::{ItemRef, Revision};
use crate::options::{MAX_BATCH, MAX_BATCH_BYTES, MAX_ERROR_TEXT};

/// The error text of an item that was buried without one.
const BURIED: &str = "buried by an operator";

impl WorkQueue {
    /// Removes an item, whatever its state. False: there is no item with this id, or it is of another generation
    /// than the [`ItemRef`] says. A holder of its lease gets false or `LeaseLost` from then on.
    ///
    /// # Errors
    /// `Invalid` for an id outside 1 to 512 bytes, or a text that is no generation.
    pub async fn remove(&self, item: impl Into<ItemRef>) -> Result<bool> {
        only(self.remove_many([item]).await?)
    }

    /// Removes many items; the answers stand in their order.
    ///
    /// # Errors
    /// As for [`remove`](WorkQueue::remove).
    pub async fn remove_many<T: Into<ItemRef>>(
        &self,
        items: impl IntoIterator<Item = T>,
    ) -> Result<Vec<bool>> {
        let items = targets(items)?;
        let mut until = self.dispatch.open().await?;
        let mut removed = Vec::with_capacity(items.len());
        for chunk in items.chunks(MAX_BATCH) {
            removed.extend(self.dispatch.remove.call(chunk.to_vec(), until).await?);
            until = self.dispatch.context.until();
        }
        Ok(removed)
    }

    /// Makes dead items ready again, at the back of their priority, and resets their attempts. False for an id
    /// without an item, or whose item is not dead, or of another generation than the [`ItemRef`] says.
    ///
    /// # Errors
    /// As for [`remove`](WorkQueue::remove).
    pub async fn requeue<T: Into<ItemRef>>(
        &self,
        items: impl IntoIterator<Item = T>,
    ) -> Result<Vec<bool>> {
        let items = targets(items)?;
        let mut until = self.dispatch.open().await?;
        let mut requeued = Vec::with_capacity(items.len());
        for chunk in items.chunks(MAX_BATCH) {
            requeued.extend(self.dispatch.requeue.call_in_steps(chunk.to_vec(), until).await?);
            until = self.dispatch.context.until();
        }
        Ok(requeued)
    }

    /// Makes items dead that are ready, held or delayed, whatever their limit of attempts. The error text is kept with
    /// them, its first 1,024 bytes; an empty one becomes `buried by an operator`. False for an id without an item,
    /// or whose item is leased, dead, or of another generation than the [`ItemRef`] says.
    ///
    /// A buried item is a new generation: an earlier holder of a lease, which has expired or was given back, can
    /// no longer complete it.
    ///
    /// # Errors
    /// As for [`remove`](WorkQueue::remove).
    pub async fn bury<T: Into<ItemRef>>(
        &self,
        items: impl IntoIterator<Item = T>,
        error: &str,
    ) -> Result<Vec<bool>> {
        let error: Arc<str> = match cut(error, MAX_ERROR_TEXT) {
            "" => BURIED.into(),
            error => error.into(),
        };
        let bury = |target| Bury { target, error: error.clone() };
        let items: Vec<Bury> = targets(items)?.into_iter().map(bury).collect();
        let mut until = self.dispatch.open().await?;
        let mut buried = Vec::with_capacity(items.len());
        for chunk in items.chunks(MAX_BATCH) {
            buried.extend(self.dispatch.bury.call_in_steps(chunk.to_vec(), until).await?);
            until = self.dispatch.context.until();
        }
        Ok(buried)
    }

    /// Changes an item that is not leased. It stays in its state and keeps its attempts and the time of its add;
    /// a delay, which a dead item cannot have, makes it delayed or ready. An item that is ready afterwards goes to
    /// the back of its priority. False: there is no item with this id, or it is leased, or of another generation
    /// than the [`ItemRef`] says; or it is dead and the revision has a delay.
    ///
    /// A revised item is a new generation: an earlier holder of a lease, which has expired or was given back, has
    /// worked on something else and can no longer complete it.
    ///
    /// # Errors
    /// `Invalid` for data or an option outside its limits, or a revision that changes nothing; and as for
    /// [`remove`](WorkQueue::remove).
    pub async fn revise(&self, item: impl Into<ItemRef>, revision: Revision) -> Result<bool> {
        only(self.revise_many([(item, revision)]).await?)
    }

    /// Changes many items; the answers stand in their order. Each chunk of at most 1,000 items and 16 MiB is one
    /// atomic step, unless the data that it keeps is larger.
    ///
    /// # Errors
    /// As for [`revise`](WorkQueue::revise): `Invalid` if any of them is, and then none is changed. After another
    /// error, earlier chunks have been changed.
    pub async fn revise_many<T: Into<ItemRef>>(
        &self,
        revisions: impl IntoIterator<Item = (T, Revision)>,
    ) -> Result<Vec<bool>> {
        let max_data = self.dispatch.context.max_data;
        let all = revisions.into_iter().map(|(item, revision)| revision.of(item.into(), max_data));
        let all = all.collect::<Result<Vec<Revise>>>()?;
        let mut until = self.dispatch.open().await?;
        let mut revised = Vec::with_capacity(all.len());
        for chunk in chunks(all) {
            revised.extend(self.dispatch.revise.call_in_steps(chunk, until).await?);
            until = self.dispatch.context.until();
        }
        Ok(revised)
    }
}

pub(super) fn targets<T: Into<ItemRef>>(items: impl IntoIterator<Item = T>) -> Result<Vec<Target>> {
    items.into_iter().map(|item| item.into().target()).collect()
}

/// Chunks of one request each.
fn chunks(all: Vec<Revise>) -> Vec<Vec<Revise>> {
    let (mut chunks, mut bytes) = (Vec::new(), 0);
    for revise in all {
        bytes += revise.target.id.len() + revise.data_len();
        match chunks.last_mut() {
            Some(last) if Vec::len(last) < MAX_BATCH && bytes <= MAX_BATCH_BYTES => {
                last.push(revise);
            }
            _ => {
                bytes = revise.target.id.len() + revise.data_len();
                chunks.push(vec![revise]);
            }
        }
    }
    chunks
}
