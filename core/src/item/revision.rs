//! Changing items that are in the queue.

use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::due::Due;
use super::item_ref::ItemRef;
use super::limits::check_fields;
use crate::engine::Revise;
use crate::error::show_id;
use crate::{Error, Result};

/// What [`revise`](crate::WorkQueue::revise) changes of an item; everything else stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Revision {
    data: Option<Bytes>,
    priority: Option<u8>,
    delay: Option<Duration>,
    due_at: Option<SystemTime>,
    max_attempts: Option<u32>,
}

impl Revision {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Revision::default()
    }

    /// Replaces the data by a copy of this.
    pub fn data(mut self, data: impl AsRef<[u8]>) -> Self {
        self.data = Some(Bytes::copy_from_slice(data.as_ref()));
        self
    }

    /// Priority 0 to 9.
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = Some(priority);
        self
    }

    /// The item is ready only after this time, from now on, at most 366 days; zero: at once. An item that is dead
    /// is not revised with a delay.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// The item is ready at this time by the server's clock, or at once if it has passed: at most 366 days ahead,
    /// and not together with a delay.
    pub fn due_at(mut self, time: SystemTime) -> Self {
        self.due_at = Some(time);
        self
    }

    /// After this many failed or expired attempts, 1 to 65,535, the item is dead. A limit that it has already
    /// reached counts from its next failed or expired attempt on.
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.max_attempts = Some(max_attempts);
        self
    }

    /// For the engine, if everything is within its limits.
    pub(crate) fn of(self, item: ItemRef, max_data: usize) -> Result<Revise> {
        let target = item.target()?;
        let wrong = |message: String| {
            Error::invalid(format_args!("item {}: {message}", show_id(&target.id)))
        };
        if self == Revision::default() {
            return Err(wrong("a revision that changes nothing".into()));
        }
        let Revision { data, priority, delay, due_at, max_attempts } = self;
        let (len, some) = (data.as_ref().map_or(0, Bytes::len), delay.unwrap_or_default());
        check_fields(len, max_data, priority.unwrap_or(0), (some, due_at), max_attempts)
            .map_err(wrong)?;
        if delay.is_some() && due_at.is_some() {
            return Err(wrong("a delay and a time at which it is due".into()));
        }
        let due = (delay.is_some() || due_at.is_some()).then(|| Due::new(some, due_at));
        Ok(Revise { target, data, priority, due, max_attempts })
    }
}
