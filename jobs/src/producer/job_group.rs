//! A group of jobs, and the jobs that follow it.

use std::time::Duration;

use leaseq::options::MAX_PLACES;
use leaseq::{
    Error, Group, GroupOutcome, NewGroup, On, OutcomeOptions, PlaceState, Result, WorkQueue,
};

use super::new_job::chained;
use super::{JobRef, NewJob, Producer};

/// Jobs that run in any order, and others that are added when all of them have ended.
#[derive(Debug)]
pub struct JobGroup {
    id: Vec<u8>,
    queue: Option<String>,
    members: Vec<NewJob>,
    follow_ups: Vec<(On, NewJob)>,
}

/// A group of jobs that was added.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JobGroupRef {
    /// Names the group: see [`leaseq::WorkQueue::group`].
    pub group: Group,
    /// Its members, in their order.
    pub jobs: Vec<JobRef>,
    queue: WorkQueue,
}

impl JobGroupRef {
    /// Waits until all members have ended, at most for this time. `None`: they have not. The outcome is `Gone` a day after the end,
    /// and if the group was removed or replaced by another one with its id.
    ///
    /// # Errors
    /// As for [`WorkQueue::group_outcome`].
    pub async fn outcome(&self, wait: Duration) -> Result<Option<GroupOutcome>> {
        let options = OutcomeOptions::new().wait(wait);
        let outcome = self.queue.group_outcome(self.group.id(), options).await?;
        let is_own =
            |outcome: &GroupOutcome| outcome.info().is_none_or(|info| info.group == self.group);
        Ok(outcome.map(|outcome| if is_own(&outcome) { outcome } else { GroupOutcome::Gone }))
    }

    /// Cancels all its jobs that have not ended. False: the group has ended, or is gone.
    ///
    /// # Errors
    /// As for [`WorkQueue::cancel_group`].
    pub async fn cancel(&self) -> Result<bool> {
        self.queue.cancel_group(&self.group).await
    }
}

impl JobGroup {
    /// A group with this id, 1 to 500 bytes, of 1 to 100,000 jobs of any queues. A job without an id of its own gets that
    /// of the group with `/` and its place, counted from 0.
    pub fn new<J: Into<NewJob>>(
        id: impl AsRef<[u8]>,
        jobs: impl IntoIterator<Item = J>,
    ) -> JobGroup {
        JobGroup {
            id: id.as_ref().to_vec(),
            queue: None,
            members: jobs.into_iter().map(Into::into).collect(),
            follow_ups: Vec::new(),
        }
    }

    /// The queue that has the group. Default: that of its first job.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = Some(queue.into());
        self
    }

    /// Adds this job when all members have succeeded, exactly once. [`Context::previous_id`](crate::Context::previous_id) is
    /// the id of the group. A group has up to 16 jobs that follow it, of any queues, which may be followed by others.
    pub fn on_success(self, job: impl Into<NewJob>) -> Self {
        self.follow_up(On::Completed, job.into())
    }

    /// Adds this job when all members have ended, and one of them has not succeeded: it is dead, or was cancelled or
    /// removed.
    pub fn on_failure(self, job: impl Into<NewJob>) -> Self {
        self.follow_up(On::Dead, job.into())
    }

    /// Adds this job when all members have ended in any way.
    pub fn on_end(self, job: impl Into<NewJob>) -> Self {
        self.follow_up(On::Ended, job.into())
    }

    /// Adds the first of these jobs when all members have succeeded, and each of the others when the one before it has: a
    /// [chain](NewJob::then).
    pub fn then<J: Into<NewJob>>(
        self,
        jobs: impl IntoIterator<Item = J, IntoIter: DoubleEndedIterator>,
    ) -> Self {
        match chained(jobs) {
            Some(next) => self.on_success(next),
            None => self,
        }
    }

    fn follow_up(mut self, on: On, job: NewJob) -> Self {
        self.follow_ups.push((on, job));
        self
    }
}

impl Producer {
    /// Adds a group of jobs. May be repeated after an error, or after the program was killed: what was added before stays,
    /// and a member that has ended is not added again. Until all of this is done, nothing follows the group; if nobody
    /// completes it, it is forgotten a day after its last change.
    ///
    /// A job that is [not added](JobRef::added), because another one has its id or its unique key, counts as ended without
    /// success. Middleware is around the members.
    ///
    /// # Errors
    /// `Invalid` for a group without jobs or with more than 100,000, and for one that was added with another number of
    /// jobs. Otherwise as for [`enqueue_many`](Producer::enqueue_many), and for [`leaseq::WorkQueue::create_group`].
    pub async fn enqueue_group(&self, group: JobGroup) -> Result<JobGroupRef> {
        let JobGroup { id, queue, members, follow_ups } = group;
        let places = u32::try_from(members.len()).unwrap_or(u32::MAX);
        if !(1..=MAX_PLACES).contains(&places) {
            return Err(Error::invalid(format_args!(
                "group {:?}: {} jobs, not between 1 and {MAX_PLACES}",
                String::from_utf8_lossy(&id),
                members.len()
            )));
        }
        let queue = queue.or_else(|| Some(members.first()?.queue_name().to_owned()));
        let queue = self.client.queue(&queue.unwrap_or_default())?;
        let mut new = NewGroup::new(&id);
        for (on, job) in follow_ups {
            new = new.follow_up(job.into_follow_up(on, queue.name())?);
        }
        // What is wrong with a job is told before the group is there.
        members.iter().try_for_each(|job| job.data().map(drop))?;
        let group = queue.create_group(new).await?;
        let refused = || {
            Error::invalid(format_args!(
                "queue {}, group {:?}: it was added with another number of jobs",
                queue.name(),
                String::from_utf8_lossy(&id)
            ))
        };
        let info = queue.group(group.id()).await?;
        if info.as_ref().and_then(|info| info.places).is_some_and(|sealed| sealed != places) {
            return Err(refused());
        }
        let open = match info.is_some_and(|info| info.ended > 0) {
            true => open_places(&queue, &group, places).await?,
            false => Vec::new(),
        };
        let mut jobs = Vec::new();
        let mut missing = Vec::new();
        for (place, job) in (0..).zip(members) {
            let own = [&id[..], format!("/{place}").as_bytes()].concat();
            let job = job.id_or(own);
            if open.get(place as usize).is_none_or(|open| *open) {
                missing.push(job.in_group(&group, place));
                jobs.push(None);
            } else {
                let queue = self.client.queue(job.queue_name())?;
                jobs.push(Some(JobRef::new(queue, job.item_id().to_vec(), false)));
            }
        }
        let mut added = self.enqueue_many(missing).await?.into_iter();
        let jobs = jobs.into_iter().filter_map(|job| job.or_else(|| added.next())).collect();
        if !queue.seal_group(&group, places).await? {
            return Err(refused());
        }
        Ok(JobGroupRef { group, jobs, queue })
    }
}

/// Which places no member has filled.
async fn open_places(queue: &WorkQueue, group: &Group, places: u32) -> Result<Vec<bool>> {
    let mut open = Vec::new();
    while open.len() < places as usize {
        let states = queue.group_places(group, open.len() as u32).await?;
        if states.is_empty() {
            break;
        }
        open.extend(states.iter().map(|state| *state == PlaceState::Open));
    }
    Ok(open)
}
