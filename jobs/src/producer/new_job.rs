//! A job to add, and its options.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use leaseq::{FollowUp, Group, Item, On, Result};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{Retry, RetryRules, envelope};

/// A job to add, with its options. What the queue decides on has the meaning and limits that it has for [`Item`].
#[derive(Debug)]
pub struct NewJob {
    name: String,
    queue: String,
    /// An error is returned when the job is added.
    args: Result<Box<RawValue>>,
    meta: BTreeMap<String, String>,
    timeout: Option<Duration>,
    retry: Option<RetryRules>,
    /// Without data.
    item: Item,
    /// Its id is not the random one.
    has_id: bool,
    follow_ups: Vec<(On, NewJob)>,
}

impl NewJob {
    /// A job of which this program knows only the name: its handler may be written in another language. The arguments
    /// are written as a JSON object.
    pub fn named<T: Serialize + ?Sized>(
        name: impl Into<String>,
        queue: impl Into<String>,
        args: &T,
    ) -> Self {
        let name = name.into();
        NewJob {
            args: envelope::write_args(&name, args),
            name,
            queue: queue.into(),
            meta: BTreeMap::new(),
            timeout: None,
            retry: None,
            item: Item::new_many([Bytes::new()]).swap_remove(0),
            has_id: false,
            follow_ups: Vec::new(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds it to this queue instead of that of its type.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = queue.into();
        self
    }

    /// Attaches a text for handlers and middleware, such as a `traceparent`.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }

    /// How long its handler may run, instead of what the worker says: 1 ms to 30 days.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// When it is retried, instead of what the worker says.
    pub fn retry(self, retry: Retry) -> Self {
        self.retry_rules(retry.into())
    }

    /// The rules of retries that differ from what the worker says.
    pub fn retry_rules(mut self, rules: RetryRules) -> Self {
        self.retry = Some(rules);
        self
    }

    /// The id of the item. Default: a random UUID.
    pub fn id(mut self, id: impl AsRef<[u8]>) -> Self {
        self.has_id = true;
        self.change(|item| item.with_id(id))
    }

    /// See [`Item::priority`].
    pub fn priority(self, priority: u8) -> Self {
        self.change(|item| item.priority(priority))
    }

    /// See [`Item::delay`].
    pub fn delay(self, delay: Duration) -> Self {
        self.change(|item| item.delay(delay))
    }

    /// See [`Item::due_at`].
    pub fn due_at(self, time: SystemTime) -> Self {
        self.change(|item| item.due_at(time))
    }

    /// See [`Item::max_attempts`]. It takes precedence over the retry rules. Default: these decide.
    pub fn max_attempts(self, max_attempts: u32) -> Self {
        self.change(|item| item.max_attempts(max_attempts))
    }

    /// Keeps the job for this time after its completion, with its result: see [`Item::retain`]. Default: as its type
    /// says.
    pub fn retain(self, retain: Duration) -> Self {
        self.change(|item| item.retain(retain))
    }

    /// See [`Item::unique`].
    pub fn unique(self, key: impl AsRef<[u8]>) -> Self {
        self.change(|item| item.unique(key))
    }

    /// See [`Item::unique_for`].
    pub fn unique_for(self, time: Duration) -> Self {
        self.change(|item| item.unique_for(time))
    }

    /// See [`Item::key`]: jobs of a key do not overlap, or no more of them run than its limit allows.
    pub fn key(self, key: impl AsRef<[u8]>) -> Self {
        self.change(|item| item.key(key))
    }

    /// See [`Item::replace`].
    pub fn replace(self) -> Self {
        self.change(Item::replace)
    }

    /// See [`Item::successor`].
    pub fn successor(self) -> Self {
        self.change(Item::successor)
    }

    /// See [`Item::expires_in`].
    pub fn expires_in(self, time: Duration) -> Self {
        self.change(|item| item.expires_in(time))
    }

    /// See [`Item::in_group`].
    pub fn in_group(self, group: &Group, place: u32) -> Self {
        self.change(|item| item.in_group(group, place))
    }

    /// Adds this job when this one has succeeded, exactly once. Its handler gets the result: see
    /// [`Context::previous`](crate::Context::previous). A job has up to 16 such jobs, of any queue, which may have
    /// such jobs themselves, up to 16 levels deep.
    pub fn on_success(self, job: impl Into<NewJob>) -> Self {
        self.follow_up(On::Completed, job.into())
    }

    /// Adds this job when this one is dead, with the limits of [`on_success`](NewJob::on_success).
    pub fn on_failure(self, job: impl Into<NewJob>) -> Self {
        self.follow_up(On::Dead, job.into())
    }

    /// Adds this job when this one has ended in any way, with the limits of [`on_success`](NewJob::on_success).
    pub fn on_end(self, job: impl Into<NewJob>) -> Self {
        self.follow_up(On::Ended, job.into())
    }

    /// Makes a chain: each of these jobs is added when the one before it has succeeded, the first one after this one. Up
    /// to 16 jobs, of any queues.
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

    fn change(mut self, change: impl FnOnce(Item) -> Item) -> Self {
        self.item = change(self.item);
        self
    }

    /// The data of its item, for programs that add the item themselves.
    ///
    /// # Errors
    /// `Invalid`, as for [`Producer::enqueue`](crate::Producer::enqueue).
    pub fn data(&self) -> Result<Bytes> {
        let args = self.args.as_ref().map_err(Clone::clone)?;
        envelope::write(&self.name, args, &self.meta, self.timeout, self.retry.as_ref())
    }

    pub(super) fn queue_name(&self) -> &str {
        &self.queue
    }

    pub(super) fn item_id(&self) -> &[u8] {
        self.item.id()
    }

    /// Sets the id, unless it has one.
    pub(super) fn id_or(self, id: impl AsRef<[u8]>) -> Self {
        if self.has_id { self } else { self.id(id) }
    }

    /// The queue, and the item to add to it.
    pub(crate) fn into_item(self) -> Result<(String, Item)> {
        let data = self.data()?;
        let mut item = self.item.with_data(data);
        for (on, job) in self.follow_ups {
            item = item.follow_up(job.into_follow_up(on, &self.queue)?);
        }
        Ok((self.queue, item))
    }

    /// As a follow-up of something in this queue.
    pub(super) fn into_follow_up(self, on: On, queue: &str) -> Result<FollowUp> {
        let (own, item) = self.into_item()?;
        let item = if own == queue { item } else { item.queue(own) };
        Ok(FollowUp::new(on, item).with_trigger())
    }
}

/// The first of these jobs, which is followed by the others; `None` if there are none.
pub(super) fn chained<J: Into<NewJob>>(
    jobs: impl IntoIterator<Item = J, IntoIter: DoubleEndedIterator>,
) -> Option<NewJob> {
    jobs.into_iter().rev().map(Into::<NewJob>::into).reduce(|next, job| job.on_success(next))
}
