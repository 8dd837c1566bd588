//! Schedules of the queue.

use std::time::Duration;

use super::work_queue::WorkQueue;
use crate::schedule::{Changes, PutSchedule, Schedule, ScheduleInfo, SyncedSchedules, tick_due};
use crate::{Error, Result};

impl WorkQueue {
    /// Stores a schedule, or replaces the one with its name. An unchanged rule keeps its next tick, and a paused schedule
    /// stays paused. Makes the queue if there is none. While somebody waits for an item of the queue, or a cleaner
    /// looks after it, each tick adds exactly one item, however many clients there are.
    ///
    /// # Errors
    /// `Invalid` for a value outside its limits, a schedule of another owner, or more than 1,000 schedules; else see
    /// [`WorkQueue`].
    pub async fn put_schedule(&self, schedule: Schedule) -> Result<PutSchedule> {
        schedule.validate(&self.dispatch.queue, self.dispatch.context.max_data)?;
        self.change_schedules(async |changes| changes.put(&schedule).await).await
    }

    /// Makes the schedules of this owner those that it declares: adds and updates them, and removes its others. Those
    /// of other owners stay as they are. `revision` is that of all of them, such as the number of the
    /// deployment or its time: what was stored or removed with a higher one stays, so an older deployment undoes
    /// nothing. May be repeated after an error: each schedule is changed in a step of its own.
    ///
    /// # Errors
    /// `Invalid` for an empty owner, two schedules with one name, or as for
    /// [`put_schedule`](WorkQueue::put_schedule); else see [`WorkQueue`].
    pub async fn sync_schedules(
        &self,
        owner: &str,
        revision: u64,
        schedules: Vec<Schedule>,
    ) -> Result<SyncedSchedules> {
        if owner.is_empty() {
            return Err(Error::invalid("sync_schedules without an owner"));
        }
        let schedules: Vec<Schedule> = schedules
            .into_iter()
            .map(|schedule| schedule.owner(owner).revision(revision))
            .collect();
        let mut names = std::collections::BTreeSet::new();
        for schedule in &schedules {
            schedule.validate(&self.dispatch.queue, self.dispatch.context.max_data)?;
            if !names.insert(schedule.name()) {
                let name = schedule.name();
                return Err(Error::invalid(format_args!("two schedules are named {name:?}")));
            }
        }
        let mut synced = SyncedSchedules::default();
        for schedule in &schedules {
            let name = schedule.name().to_owned();
            match self.change_schedules(async |changes| changes.put(schedule).await).await? {
                PutSchedule::Added => synced.added.push(name),
                PutSchedule::Updated => synced.updated.push(name),
                PutSchedule::Unchanged => synced.unchanged.push(name),
                PutSchedule::Outdated => synced.outdated.push(name),
            }
        }
        let undeclared = async |changes: Changes<'_>| changes.undeclared(owner, &schedules).await;
        for name in self.change_schedules(undeclared).await? {
            let remove = async |changes: Changes<'_>| changes.remove(&name, Some(revision)).await;
            match self.change_schedules(remove).await? {
                true => synced.removed.push(name),
                false => synced.outdated.push(name),
            }
        }
        Ok(synced)
    }

    /// The schedules of this queue, in the order of their names. Empty if there is none, or no queue.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn schedules(&self) -> Result<Vec<ScheduleInfo>> {
        self.change_schedules(async |changes| changes.all().await).await
    }

    /// Removes a schedule. The items that it has added stay. If it has a revision, that is kept, and its owner cannot put it
    /// with a lower one. False: there was none.
    ///
    /// # Errors
    /// `Invalid` for a name of the wrong length; else see [`WorkQueue`].
    pub async fn remove_schedule(&self, name: &str) -> Result<bool> {
        self.change_schedules(async |changes| changes.remove(name, None).await).await
    }

    /// Stops a schedule until [`resume_schedule`](WorkQueue::resume_schedule), also if it is put again. False: there is none.
    ///
    /// # Errors
    /// `Invalid` for a name of the wrong length; else see [`WorkQueue`].
    pub async fn pause_schedule(&self, name: &str) -> Result<bool> {
        self.change_schedules(async |changes| changes.set_paused(name, true).await).await
    }

    /// Continues a schedule after [`pause_schedule`](WorkQueue::pause_schedule), with the first tick from now on: those
    /// during the pause were not missed. False: there is none.
    ///
    /// # Errors
    /// `Invalid` for a name of the wrong length; else see [`WorkQueue`].
    pub async fn resume_schedule(&self, name: &str) -> Result<bool> {
        self.change_schedules(async |changes| changes.set_paused(name, false).await).await
    }

    /// Adds the item of a schedule now, also if its last one has not ended or it is paused. Its next tick stays. False:
    /// there is no such schedule, or its item could not be added, because another one has its unique key.
    ///
    /// # Errors
    /// `Invalid` for a name of the wrong length; else see [`WorkQueue`].
    pub async fn run_now(&self, name: &str) -> Result<bool> {
        self.change_schedules(async |changes| changes.run_now(name).await).await
    }

    /// Adds the items of the schedules that are due, for clients that do not wait for an item for a while: who waits does
    /// so by itself. Returns the time until the next one is due; `None`: none will be.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn tick_schedules(&self) -> Result<Option<Duration>> {
        self.dispatch.open().await?;
        tick_due(&self.dispatch).await
    }

    async fn change_schedules<T>(
        &self,
        change: impl AsyncFnOnce(Changes<'_>) -> Result<T>,
    ) -> Result<T> {
        let until = self.dispatch.open().await?;
        self.dispatch.change(change(Changes { queue: &self.dispatch, until })).await
    }
}
