//! Groups of the queue.

use bytes::Bytes;

use super::work_queue::WorkQueue;
use crate::engine::{ChangeGroup, Generation, GroupChange, StoredGroup};
use crate::group::{GroupInfo, NewGroup, PlaceState, check_places};
use crate::item::{Group, check_id};
use crate::options::MAX_PLACES;
use crate::unix_time::from_ms;
use crate::{Error, Result};

impl WorkQueue {
    /// Creates a group in this queue, or returns the one that has its id, as it was created. Makes the queue if there is none.
    ///
    /// Add its [members](crate::Item::in_group) to any queues, then [seal](WorkQueue::seal_group) it. If the caller dies in
    /// between, it can do all of that again. A group that is not sealed goes after a day without change; one that has
    /// ended, a day after its end.
    ///
    /// # Errors
    /// `Invalid` for a value outside its limits; else see [`WorkQueue`].
    pub async fn create_group(&self, group: NewGroup) -> Result<Group> {
        group.validate(&self.dispatch.queue, self.dispatch.context.max_data)?;
        let id = group.item.id.clone();
        let created =
            self.change_group(id.clone(), GroupChange::Create(Box::new(group.item))).await?;
        let generation = created.ok_or_else(|| Error::internal("a group has no generation"))?;
        Ok(Group { queue: self.dispatch.queue.clone(), id, generation })
    }

    /// Fixes how many places a group has, 1 to 100,000, counted from 0. Call it when all members have been added: the group
    /// ends when all these places are filled, which may be now. True: it has that many places, also if it had been sealed so
    /// before. False: it has another number of places, or is gone.
    ///
    /// # Errors
    /// `Invalid` for a number outside its limits, or a group of another queue; else see [`WorkQueue`].
    pub async fn seal_group(&self, group: &Group, places: u32) -> Result<bool> {
        check_places(places)?;
        self.check_own(group)?;
        let seal = GroupChange::Seal { generation: group.generation, places };
        Ok(self.change_group(group.id.clone(), seal).await?.is_some())
    }

    /// Cancels a group that has not ended: each of its members, in any queue, as [`cancel`](WorkQueue::cancel) does, also
    /// those that are added later. Members that have ended stay as they are, and a dead one that is requeued later is not
    /// cancelled. The group itself goes on: it ends when all its places are filled, and then adds its follow-ups.
    ///
    /// Members are cancelled soon, usually before the call returns if they are not many; if the client dies, others go on.
    /// True: there is such a group, and it had not ended, also if it was cancelled before. False: it has ended, or is gone.
    ///
    /// # Errors
    /// `Invalid` for a group of another queue; else see [`WorkQueue`].
    pub async fn cancel_group(&self, group: &Group) -> Result<bool> {
        self.check_own(group)?;
        let cancel = GroupChange::Cancel { generation: group.generation };
        Ok(self.change_group(group.id.clone(), cancel).await?.is_some())
    }

    /// Removes a group. Its members stay, and their ends fill nothing any more; if the group has not ended, its follow-ups
    /// are never added. False: it is gone.
    ///
    /// # Errors
    /// `Invalid` for a group of another queue; else see [`WorkQueue`].
    pub async fn remove_group(&self, group: &Group) -> Result<bool> {
        self.check_own(group)?;
        let remove = GroupChange::Remove { generation: group.generation };
        Ok(self.change_group(group.id.clone(), remove).await?.is_some())
    }

    /// The group of this queue with this id. `None`: there is none. An end of a member counts as soon as it was reported, which is
    /// usually when the call that has ended it returns.
    ///
    /// # Errors
    /// `Invalid` for an id outside its limits; else see [`WorkQueue`].
    pub async fn group(&self, id: impl AsRef<[u8]>) -> Result<Option<GroupInfo>> {
        let id = Bytes::copy_from_slice(id.as_ref());
        check_id(&id)?;
        let Some(found) = self.read_group(&id, 0, 0).await? else { return Ok(None) };
        Ok(Some(GroupInfo {
            group: Group { queue: self.dispatch.queue.clone(), id, generation: found.generation },
            places: Some(found.places).filter(|places| *places > 0),
            ended: found.ended,
            completed: found.completed,
            has_ended: found.has_ended,
            changed: from_ms(found.changed_ms),
        }))
    }

    /// The states of up to 1,000 places of a group, from this one on. Fewer if it has no more; none if it is gone.
    ///
    /// # Errors
    /// `Invalid` for a group of another queue; else see [`WorkQueue`].
    pub async fn group_places(&self, group: &Group, from: u32) -> Result<Vec<PlaceState>> {
        self.check_own(group)?;
        let most = MAX_PLACES.saturating_sub(from).min(crate::options::MAX_BATCH as u32);
        let found = self.read_group(&group.id, from, most).await?;
        let found = found.filter(|found| found.generation == group.generation);
        Ok(found.map(|found| found.states).unwrap_or_default())
    }

    async fn change_group(&self, id: Bytes, change: GroupChange) -> Result<Option<Generation>> {
        self.dispatch.open().await?;
        let engine = &self.dispatch.context.engine;
        engine.change_group(&self.dispatch.queue, &ChangeGroup { id, change }).await
    }

    async fn read_group(&self, id: &Bytes, from: u32, most: u32) -> Result<Option<StoredGroup>> {
        self.dispatch.open().await?;
        self.dispatch.context.engine.read_group(&self.dispatch.queue, id, from, most).await
    }

    fn check_own(&self, group: &Group) -> Result<()> {
        match group.queue == self.dispatch.queue {
            true => Ok(()),
            false => Err(Error::invalid(format_args!(
                "a group of queue {} was given to queue {}",
                group.queue, self.dispatch.queue
            ))),
        }
    }
}
