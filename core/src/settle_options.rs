//! Options of completing, failing and releasing.

use std::time::Duration;

use bytes::Bytes;

use crate::item::{Item, check_added};
use crate::name::QueueName;
use crate::options::{MAX_REASON, check_delay, check_retain, show};
use crate::{Error, Result};

/// How [`WorkQueue::complete_with`](crate::WorkQueue::complete_with) completes.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CompleteOptions {
    /// Only succeeds if the lease is current: the item was neither leased again nor reclaimed. Default: no,
    /// since the work is done, whoever holds the item now.
    pub strict: bool,
    /// How long the item stays after its completion, in the state `completed`, at most 366 days; zero: it is gone
    /// at once. Default: as it was added.
    pub retain: Option<Duration>,
    /// The results, one for each lease of the call, or none at all. Each has the limit of an item's data. The
    /// result is kept with an item that is retained, and dropped with one that is not.
    pub results: Vec<Option<Bytes>>,
    /// For each lease the items that are added if this call ends its item; or nothing at all. At most 999 for each, of
    /// 16 MiB, with different ids.
    pub adds: Vec<Vec<Item>>,
}

impl CompleteOptions {
    /// The defaults.
    pub fn new() -> Self {
        CompleteOptions::default()
    }

    /// Only succeeds if the lease is current.
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Retains the item for this time, at most 366 days; zero: not at all.
    pub fn retain(mut self, retain: Duration) -> Self {
        self.retain = Some(retain);
        self
    }

    /// The result, of a call for one lease.
    pub fn result(self, result: impl Into<Bytes>) -> Self {
        self.results([Some(result.into())])
    }

    /// The results, one for each lease of the call.
    pub fn results(mut self, results: impl IntoIterator<Item = Option<Bytes>>) -> Self {
        self.results = results.into_iter().collect();
        self
    }

    /// Returns how long the items are retained, in ms, if that is said.
    /// Adds items to the queue if this call completes the item of the only lease: up to 999, of 16 MiB in total.
    pub fn add_items(self, items: impl IntoIterator<Item = Item>) -> Self {
        self.adds([items.into_iter().collect()])
    }

    /// The same for each lease.
    pub fn adds(mut self, items: impl IntoIterator<Item = Vec<Item>>) -> Self {
        self.adds = items.into_iter().collect();
        self
    }

    /// `queue`: of the leases, which are so many.
    pub(crate) fn validate(
        &self,
        queue: &QueueName,
        leases: usize,
        max_data: usize,
    ) -> Result<Option<u64>> {
        check_adds(&self.adds, queue, leases, max_data)?;
        if !self.results.is_empty() && self.results.len() != leases {
            return Err(Error::invalid(format_args!(
                "{} results for {leases} leases",
                self.results.len()
            )));
        }
        if let Some(large) = self.results.iter().flatten().find(|result| result.len() > max_data) {
            return Err(Error::invalid(format_args!(
                "a result of {} bytes is over the limit of {max_data}",
                large.len()
            )));
        }
        self.retain.map(check_retain).transpose()
    }
}

/// How [`WorkQueue::fail_with`](crate::WorkQueue::fail_with) fails.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FailOptions {
    /// How long the item is delayed, at most 366 days. Default: not at all.
    pub delay: Duration,
    /// The item is dead then, whatever its limit of attempts. Default: no.
    pub dead: bool,
    /// For each lease the items that are added if this call ends its item: if it is dead or cancelled by it. As for
    /// [`CompleteOptions::adds`].
    pub adds: Vec<Vec<Item>>,
}

impl FailOptions {
    /// The defaults.
    pub fn new() -> Self {
        FailOptions::default()
    }

    /// Delays the item by this long, at most 366 days.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The item is dead then, whatever its limit of attempts.
    pub fn dead(mut self) -> Self {
        self.dead = true;
        self
    }

    /// Adds items to the queue if this call makes the item of the only lease dead, or ends it as cancelled: up to 999,
    /// of 16 MiB in total.
    pub fn add_items(self, items: impl IntoIterator<Item = Item>) -> Self {
        self.adds([items.into_iter().collect()])
    }

    /// The same for each lease.
    pub fn adds(mut self, items: impl IntoIterator<Item = Vec<Item>>) -> Self {
        self.adds = items.into_iter().collect();
        self
    }

    /// `queue`: of the leases, which are so many.
    pub(crate) fn validate(
        &self,
        queue: &QueueName,
        leases: usize,
        max_data: usize,
    ) -> Result<u64> {
        check_adds(&self.adds, queue, leases, max_data)?;
        if self.dead && !self.delay.is_zero() {
            return Err(Error::invalid(format_args!(
                "a delay of {} for an item that is to be dead",
                show(self.delay)
            )));
        }
        check_delay(self.delay)
    }
}

/// How [`WorkQueue::release_with`](crate::WorkQueue::release_with) releases.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReleaseOptions {
    /// How long the item is delayed, at most 366 days. Default: not at all.
    pub delay: Duration,
    /// Why, up to 128 bytes. It is kept with the item, with how often in a row it was given and when first.
    /// Default: no reason.
    pub reason: String,
    /// Nobody has looked at the item: the last reason stays, with how often it was given and when first. Default: no.
    pub unseen: bool,
}

impl ReleaseOptions {
    /// The defaults.
    pub fn new() -> Self {
        ReleaseOptions::default()
    }

    /// Delays the item by this long, at most 366 days.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Leaves the last reason, with how often it was given and when first, as it is: nobody has looked at the item.
    pub fn unseen(mut self) -> Self {
        self.unseen = true;
        self
    }

    /// Keeps this reason with the item, up to 128 bytes.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    pub(crate) fn validate(&self) -> Result<u64> {
        if self.reason.len() > MAX_REASON {
            return Err(Error::invalid(format_args!(
                "a reason of {} bytes is over the limit of {MAX_REASON}",
                self.reason.len()
            )));
        }
        if self.unseen && !self.reason.is_empty() {
            let reason = &self.reason;
            return Err(Error::invalid(format_args!(
                "a reason ({reason:?}) for the release of an item that nobody has looked at"
            )));
        }
        check_delay(self.delay)
    }
}

fn check_adds(adds: &[Vec<Item>], queue: &QueueName, leases: usize, max_data: usize) -> Result<()> {
    if !adds.is_empty() && adds.len() != leases {
        return Err(Error::invalid(format_args!(
            "{} lists of items to add for {leases} leases",
            adds.len()
        )));
    }
    adds.iter().try_for_each(|items| check_added(items, queue, max_data))
}
