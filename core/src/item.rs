//! What is put into a queue, and what it looks like there.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

use crate::error::show_id;
use crate::options::{MAX_ATTEMPTS, MAX_ID, MAX_PRIORITY, check_delay};
use crate::{Error, Result};

/// An item to add: an id, data and options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub(crate) id: Bytes,
    pub(crate) data: Bytes,
    pub(crate) priority: u8,
    pub(crate) delay: Duration,
    pub(crate) max_attempts: Option<u32>,
}

impl Item {
    /// An item with a copy of this data and a random UUID as its id.
    pub fn new(data: impl AsRef<[u8]>) -> Self {
        let mut text = uuid::Uuid::encode_buffer();
        let id = uuid::Uuid::new_v4().hyphenated().encode_lower(&mut text);
        Item {
            id: Bytes::copy_from_slice(id.as_bytes()),
            data: Bytes::copy_from_slice(data.as_ref()),
            priority: 0,
            delay: Duration::ZERO,
            max_attempts: None,
        }
    }

    /// An item with this value as JSON and a random UUID as its id.
    ///
    /// # Errors
    /// `Invalid` if the value cannot be written as JSON.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let data = serde_json::to_vec(value)
            .map_err(|e| Error::invalid(format_args!("data cannot be written as json: {e}")))?;
        Ok(Item::new(data))
    }

    /// Gives the item this id instead: 1 to 512 arbitrary bytes.
    pub fn with_id(mut self, id: impl AsRef<[u8]>) -> Self {
        self.id = Bytes::copy_from_slice(id.as_ref());
        self
    }

    /// Priority 0 to 9; higher ones are leased first. Default: 0.
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// Makes the item ready only after this time, at most 366 days. Default: zero.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// After this many failed or expired attempts, 1 to 65,535, the item is dead. Default: no limit.
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.max_attempts = Some(max_attempts);
        self
    }

    /// The id.
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// The data.
    pub fn data(&self) -> &Bytes {
        &self.data
    }

    pub(crate) fn validate(&self, max_data: usize) -> Result<()> {
        check_id(&self.id)?;
        let wrong = |message: std::fmt::Arguments<'_>| {
            Err(Error::invalid(format_args!("item {}: {message}", show_id(&self.id))))
        };
        if self.data.len() > max_data {
            return wrong(format_args!(
                "data of {} bytes is over the limit of {max_data}",
                self.data.len()
            ));
        }
        if self.priority > MAX_PRIORITY {
            return wrong(format_args!(
                "priority {} is not between 0 and {MAX_PRIORITY}",
                self.priority
            ));
        }
        if let Err(error) = check_delay(self.delay) {
            return wrong(format_args!("{error}"));
        }
        match self.max_attempts {
            Some(n) if n == 0 || n > MAX_ATTEMPTS => {
                wrong(format_args!("max_attempts {n} is not between 1 and {MAX_ATTEMPTS}"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn delay_ms(&self) -> u64 {
        check_delay(self.delay).unwrap_or(0)
    }
}

pub(crate) fn check_id(id: &[u8]) -> Result<()> {
    if id.is_empty() || id.len() > MAX_ID {
        return Err(Error::invalid(format_args!(
            "id {} has {} bytes, not between 1 and {MAX_ID}",
            show_id(id),
            id.len()
        )));
    }
    Ok(())
}

/// The state an item is in; exactly one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum State {
    /// Can be leased.
    Ready,
    /// Will be ready when its delay ends.
    Delayed,
    /// Leased, or expired and not yet reclaimed.
    Leased,
    /// Out of attempts; waits for `requeue` or `remove`.
    Dead,
}

impl State {
    /// Every state.
    pub const ALL: [State; 4] = [State::Ready, State::Delayed, State::Leased, State::Dead];

    /// The state's name: `ready`, `delayed`, `leased` or `dead`.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Ready => "ready",
            State::Delayed => "delayed",
            State::Leased => "leased",
            State::Dead => "dead",
        }
    }
}

/// An item as it stands in the queue, looked at without leasing it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ItemInfo {
    /// The id.
    pub id: Bytes,
    /// The data.
    pub data: Bytes,
    /// The state.
    pub state: State,
    /// 0 to 9.
    pub priority: u8,
    /// The limit of attempts, if there is one.
    pub max_attempts: Option<u32>,
    /// Deliveries so far that ended with `fail`, since the add or the last `requeue`.
    pub failures: u32,
    /// Deliveries so far that ended with an expired lease, since the add or the last `requeue`.
    pub expiries: u32,
    /// The text of the last `fail`; empty if there was none.
    pub last_error: String,
    /// When it was added, on the server's clock.
    pub added_at: SystemTime,
    /// The lease's deadline, the time it is due, or the time of death; `None` for ready items.
    pub at: Option<SystemTime>,
}

impl ItemInfo {
    /// The data read as JSON.
    ///
    /// # Errors
    /// `Invalid` if it is not JSON, or not of this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        read_json(&self.id, &self.data)
    }
}

pub(crate) fn read_json<T: DeserializeOwned>(id: &[u8], data: &[u8]) -> Result<T> {
    serde_json::from_slice(data).map_err(|e| {
        Error::invalid(format_args!("item {}: data cannot be read as json: {e}", show_id(id)))
    })
}

/// How many items are in each state, and more that operators watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Ready items.
    pub ready: u64,
    /// Ready items by priority, 0 to 9.
    pub ready_by_priority: [u64; 10],
    /// Items whose delay has not ended, or that nobody has promoted yet.
    pub delayed: u64,
    /// Leased items, expired ones that nobody has reclaimed yet included.
    pub leased: u64,
    /// Dead items.
    pub dead: u64,
    /// How long the oldest ready item has been ready; `None` if none is. A reclaimed or released
    /// item keeps its age; one that failed, or was delayed or requeued, counts from then.
    pub oldest_ready: Option<Duration>,
    /// Whether leasing is paused.
    pub paused: bool,
    /// What has happened since the queue was new.
    pub totals: Totals,
}

/// What has happened in a queue since it was new.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Items added.
    pub added: u64,
    /// Leases given.
    pub leased: u64,
    /// Items completed.
    pub completed: u64,
    /// Leases that expired and were reclaimed.
    pub expired: u64,
    /// Calls of `fail` that counted.
    pub failed: u64,
    /// Items that ran out of attempts.
    pub died: u64,
    /// Items removed or purged.
    pub removed: u64,
}

/// A page of [`WorkQueue::list`](crate::WorkQueue::list).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The items, in the order of leasing (ready) or of time (the others).
    pub items: Vec<ItemInfo>,
    /// Where to go on; `None` at the end.
    pub cursor: Option<Cursor>,
}

/// Where a listing goes on. Opaque; good for the queue and state it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub(crate) String, pub(crate) String);
