//! A job to add, and its options.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use leaseq::options::MAX_LEASE;
use leaseq::{Error, Item, Result};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{Job, Retry, envelope};

/// A job to add, with its options. What the queue decides on has the meaning and limits that it has for [`Item`].
#[derive(Debug)]
pub struct NewJob {
    name: String,
    queue: String,
    /// An error is returned when the job is added.
    args: Result<Box<RawValue>>,
    meta: BTreeMap<String, String>,
    timeout: Option<Duration>,
    retry: Option<Retry>,
    id: Option<Vec<u8>>,
    priority: u8,
    delay: Duration,
    due_at: Option<SystemTime>,
    max_attempts: Option<u32>,
    retain: Duration,
    unique: Option<Vec<u8>>,
    unique_for: Duration,
    replace: bool,
    expires_in: Option<Duration>,
}

impl<J: Job> From<J> for NewJob {
    fn from(job: J) -> Self {
        NewJob::new(job)
    }
}

impl NewJob {
    /// A job of a type of this program.
    pub fn new<J: Job>(job: J) -> Self {
        NewJob::named(J::NAME, J::QUEUE, &job).retain(J::options().retain)
    }

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
            id: None,
            priority: 0,
            delay: Duration::ZERO,
            due_at: None,
            max_attempts: None,
            retain: Duration::ZERO,
            unique: None,
            unique_for: Duration::ZERO,
            replace: false,
            expires_in: None,
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
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = Some(retry);
        self
    }

    /// The id of the item. Default: a random UUID.
    pub fn id(mut self, id: impl Into<Vec<u8>>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// See [`Item::priority`].
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// See [`Item::delay`].
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// See [`Item::due_at`].
    pub fn due_at(mut self, time: SystemTime) -> Self {
        self.due_at = Some(time);
        self
    }

    /// See [`Item::max_attempts`]. It takes precedence over the retry rules. Default: these decide.
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.max_attempts = Some(max_attempts);
        self
    }

    /// Keeps the job for this time after its completion, with its result: see [`Item::retain`]. Default: as its type
    /// says.
    pub fn retain(mut self, retain: Duration) -> Self {
        self.retain = retain;
        self
    }

    /// See [`Item::unique`].
    pub fn unique(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.unique = Some(key.into());
        self
    }

    /// See [`Item::unique_for`].
    pub fn unique_for(mut self, time: Duration) -> Self {
        self.unique_for = time;
        self
    }

    /// See [`Item::replace`].
    pub fn replace(mut self) -> Self {
        self.replace = true;
        self
    }

    /// See [`Item::expires_in`].
    pub fn expires_in(mut self, time: Duration) -> Self {
        self.expires_in = Some(time);
        self
    }

    /// The queue, and the item to add to it.
    pub(super) fn into_item(self) -> Result<(String, Item)> {
        let invalid = |what: &str| Error::invalid(format_args!("job {}: {what}", self.name));
        let range = Duration::from_millis(1)..=MAX_LEASE;
        if self.timeout.is_some_and(|timeout| !range.contains(&timeout)) {
            return Err(invalid("the timeout is not between 1 ms and 30 days"));
        }
        if let Some(retry) = &self.retry {
            retry.validate()?;
        }
        let args = self.args?;
        let retry = self.retry.as_ref();
        let data = envelope::write(&self.name, &args, &self.meta, self.timeout, retry)?;
        let mut item = Item::new_many([data])
            .pop()
            .ok_or_else(|| Error::invalid("no item"))?
            .priority(self.priority)
            .delay(self.delay)
            .retain(self.retain)
            .unique_for(self.unique_for);
        if let Some(id) = self.id {
            item = item.with_id(id);
        }
        if let Some(time) = self.due_at {
            item = item.due_at(time);
        }
        if let Some(max_attempts) = self.max_attempts {
            item = item.max_attempts(max_attempts);
        }
        if let Some(key) = self.unique {
            item = item.unique(key);
        }
        if let Some(time) = self.expires_in {
            item = item.expires_in(time);
        }
        if self.replace {
            item = item.replace();
        }
        Ok((self.queue, item))
    }
}
