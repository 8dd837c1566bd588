//! Schedules of the queue.

use std::collections::BTreeSet;
use std::time::Duration;

use super::work_queue::WorkQueue;
use crate::options::MAX_SCHEDULES;
use crate::pause::PauseOptions;
use crate::query_options::GetOptions;
use crate::schedule::{
    Changes, Owned, PutSchedule, Schedule, ScheduleInfo, SyncedSchedules, check_deployment,
    tick_due,
};
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
    /// deployment or its time, up to 2^53. If anything of this owner is stored, or was removed, with a higher one, nothing is
    /// changed and all are `outdated`: an older deployment undoes nothing. May be repeated after an error: each schedule is
    /// changed in a step of its own.
    ///
    /// # Errors
    /// `Invalid` for an owner of no bytes, or outside its limits, two schedules with one name, or as for
    /// [`put_schedule`](WorkQueue::put_schedule); else see [`WorkQueue`].
    pub async fn sync_schedules(
        &self,
        owner: &str,
        revision: u64,
        schedules: Vec<Schedule>,
    ) -> Result<SyncedSchedules> {
        check_deployment(owner, revision, 1)?;
        let schedules: Vec<Schedule> = schedules
            .into_iter()
            .map(|schedule| schedule.owner(owner).revision(revision))
            .collect();
        let mut declared = BTreeSet::new();
        for schedule in &schedules {
            schedule.validate(&self.dispatch.queue, self.dispatch.context.max_data)?;
            if !declared.insert(schedule.name()) {
                let name = schedule.name();
                return Err(Error::invalid(format_args!("two schedules are named {name:?}")));
            }
        }
        let read = || self.change_schedules(async |changes| changes.owned(owner).await);
        let owned = read().await?;
        let is_declared = |name: &&String| declared.contains(&***name);
        let mut synced = SyncedSchedules::default();
        if owned.newest > revision {
            synced.outdated = declared.iter().map(|&name| name.to_owned()).collect();
            synced.outdated.extend(owned.live.iter().filter(|name| !is_declared(name)).cloned());
            return Ok(synced);
        }
        // Those that go make room first only if they must: if this call stops, there are rather too many than too few.
        let new = declared.iter().filter(|name| !owned.live.contains(**name)).count() as u64;
        if owned.live_in_queue + new > MAX_SCHEDULES {
            self.remove_undeclared(&declared, &owned, revision, &mut synced).await?;
        }
        for schedule in &schedules {
            let name = schedule.name().to_owned();
            match self.change_schedules(async |changes| changes.put(schedule).await).await? {
                PutSchedule::Added => synced.added.push(name),
                PutSchedule::Updated => synced.updated.push(name),
                PutSchedule::Unchanged => synced.unchanged.push(name),
                PutSchedule::Outdated => synced.outdated.push(name),
            }
        }
        let owned = read().await?;
        self.remove_undeclared(&declared, &owned, revision, &mut synced).await?;
        if owned.newest > revision {
            self.retract_added(&schedules, owned.newest, &mut synced).await?;
        }
        Ok(synced)
    }

    /// Removes those of the owner that it does not declare any more.
    async fn remove_undeclared(
        &self,
        declared: &BTreeSet<&str>,
        owned: &Owned,
        revision: u64,
        synced: &mut SyncedSchedules,
    ) -> Result<()> {
        for name in owned.live.iter().filter(|name| !declared.contains(&***name)) {
            let remove = async |changes: Changes<'_>| changes.remove(name, Some(revision)).await;
            match self.change_schedules(remove).await? {
                true => synced.removed.push(name.clone()),
                false => synced.outdated.push(name.clone()),
            }
        }
        Ok(())
    }

    /// A newer deployment has declared its schedules meanwhile: what this one has added behind its back goes again.
    async fn retract_added(
        &self,
        schedules: &[Schedule],
        newest: u64,
        synced: &mut SyncedSchedules,
    ) -> Result<()> {
        let added = std::mem::take(&mut synced.added);
        for schedule in schedules.iter().filter(|one| added.iter().any(|name| name == one.name())) {
            let retract = async |changes: Changes<'_>| changes.retract(schedule, newest).await;
            self.change_schedules(retract).await?;
            synced.outdated.push(schedule.name().to_owned());
        }
        Ok(())
    }

    /// The schedules of this queue, in the order of their names. Empty if there is none, or no queue.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn schedules(&self) -> Result<Vec<ScheduleInfo>> {
        self.schedules_with(GetOptions::default()).await
    }

    /// [`schedules`](WorkQueue::schedules), perhaps without their data: for lists, if the data is large.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn schedules_with(&self, options: GetOptions) -> Result<Vec<ScheduleInfo>> {
        self.change_schedules(async |changes| changes.all(options.data).await).await
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
        self.pause_schedule_with(name, PauseOptions::default()).await
    }

    /// As [`pause_schedule`](WorkQueue::pause_schedule), and says who pauses and why, which
    /// [`schedules`](WorkQueue::schedules) show. Of several pauses the last one counts.
    ///
    /// # Errors
    /// `Invalid` for a name of the wrong length, a text outside its limits, and a duration; else see [`WorkQueue`].
    pub async fn pause_schedule_with(&self, name: &str, options: PauseOptions) -> Result<bool> {
        let note = options.without_duration()?;
        // A tick that is due was before the pause. Who cannot process it can pause nevertheless.
        self.dispatch.open().await?;
        if let Err(error) = tick_due(&self.dispatch).await {
            let queue = &self.dispatch.queue;
            tracing::warn!(%queue, name, %error, "what was due before a pause could not be added");
        }
        self.change_schedules(async |changes| changes.set_paused(name, Some(&note)).await).await
    }

    /// Continues a schedule after [`pause_schedule`](WorkQueue::pause_schedule), with the first tick from now on; an interval keeps its phase. Those
    /// during the pause were not missed. False: there is none.
    ///
    /// # Errors
    /// `Invalid` for a name of the wrong length; else see [`WorkQueue`].
    pub async fn resume_schedule(&self, name: &str) -> Result<bool> {
        self.change_schedules(async |changes| changes.set_paused(name, None).await).await
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
