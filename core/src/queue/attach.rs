//! Attaching follow-ups to items that are in the queue.

use super::work_queue::{WorkQueue, only};
use crate::engine::{Attach, Attached};
use crate::error::show_id;
use crate::item::{FollowUp, ItemRef, check_attached};
use crate::options::{MAX_ATTACHED, MAX_FOLLOW_UPS, MAX_FOLLOW_UPS_SIZE};
use crate::{Error, Result};

impl WorkQueue {
    /// Adds a follow-up to an item that has not ended, in whatever state it is: it fires when this run of the item ends, as
    /// one that the item was [added with](crate::Item::follow_up). If the item has ended as the follow-up requires and is
    /// still there, dead or [retained](crate::Item::retain), the follow-up is added at once.
    ///
    /// True: the item has this follow-up now, or it is added. False: there is no item with this id, or it has ended in
    /// another way, or is of another generation than the [`ItemRef`] says. A follow-up with the same id, for the same queue and
    /// the same end, that the item has already is taken for this one: the call changes nothing and returns true. So a call
    /// that is repeated, with an id of the caller's, attaches once.
    ///
    /// # Errors
    /// `Invalid` for a follow-up outside its limits, or if the item would have more than 16 follow-ups or 64 KiB of them; and as
    /// for [`remove`](WorkQueue::remove).
    pub async fn attach(&self, item: impl Into<ItemRef>, follow_up: FollowUp) -> Result<bool> {
        only(self.attach_many([(item, follow_up)]).await?)
    }

    /// Attaches many follow-ups, to one item or several; the answers stand in their order. It works in atomic steps of up to
    /// 128.
    ///
    /// # Errors
    /// As for [`attach`](WorkQueue::attach): `Invalid` if any of them is, and then none is attached. If an item has no
    /// room, the other follow-ups of its step, and of those before, are attached.
    pub async fn attach_many<T: Into<ItemRef>>(
        &self,
        follow_ups: impl IntoIterator<Item = (T, FollowUp)>,
    ) -> Result<Vec<bool>> {
        let (queue, max_data) = (&self.dispatch.queue, self.dispatch.context.max_data);
        let all = follow_ups.into_iter().map(|(item, follow_up)| {
            let target = item.into().target()?;
            check_attached(&follow_up, queue, &target.id, max_data)?;
            Ok(Attach { target, follow_up })
        });
        let all = all.collect::<Result<Vec<Attach>>>()?;
        let mut until = self.dispatch.open().await?;
        let mut attached = Vec::with_capacity(all.len());
        for step in all.chunks(MAX_ATTACHED) {
            let answers = self.dispatch.attach.call(step.to_vec(), until).await?;
            for (answer, attach) in answers.into_iter().zip(step) {
                attached.push(match answer {
                    Attached::Yes => true,
                    Attached::No => false,
                    Attached::Full => return Err(full(&attach.target.id)),
                });
            }
            until = self.dispatch.context.until();
        }
        Ok(attached)
    }
}

fn full(id: &[u8]) -> Error {
    Error::invalid(format_args!(
        "item {} would have more than {MAX_FOLLOW_UPS} follow-ups, or more than {MAX_FOLLOW_UPS_SIZE} bytes of them",
        show_id(id)
    ))
}
