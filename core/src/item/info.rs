//! Items as operators see them.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::cursor::Cursor;
use super::history::{Ending, Releases};
use super::new_item::FollowUp;
use super::state::State;
use crate::engine::Generation;
use crate::error::show_id;
use crate::unix_time::from_ms;
use crate::{Error, Result};

/// The error text of an item that has expired. `scripts/parts/expiries.lua` has it too.
pub(crate) const NOT_LEASED: &str = "not leased before it expired";

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
    /// How its last 16 failed or expired leases ended, the oldest first, also before a `requeue`.
    pub endings: Vec<Ending>,
    /// The releases in a row for one reason, up to now; `None` if there was none.
    pub releases: Option<Releases>,
    /// Names this life of the id, for [`ItemRef::if_generation`](crate::ItemRef::if_generation): an opaque text. It
    /// changes when the item is added anew, buried, revised or cancelled before it is leased; leases and `requeue` keep it.
    pub generation: String,
    /// When it was added, on the server's clock.
    pub added_at: SystemTime,
    /// The lease's deadline, the time it is due, the time of death, or the time until which a retained item is
    /// kept; `None` for ready and held items.
    pub at: Option<SystemTime>,
    /// When a retained item has ended; `None` for others.
    pub ended_at: Option<SystemTime>,
    /// The result of a completed item, if it was given one.
    pub result: Option<Bytes>,
    /// How long the item is retained after its completion; zero: not at all.
    pub retain: Duration,
    /// The unique key, if it has one.
    pub unique: Option<Bytes>,
    /// The [key](crate::Item::key), if it has one.
    pub key: Option<Bytes>,
    /// When it is dead if it is not leased then; `None`: never, because it was added without
    /// [`expires_in`](crate::Item::expires_in), an attempt of it has counted, or it has ended.
    pub expires_at: Option<SystemTime>,
    /// How far the last holder that has [said so](crate::WorkQueue::set_progress) has come; `None` if none has, and for
    /// completed items.
    pub progress: Option<Bytes>,
    /// Whether it is leased and its cancellation was requested.
    pub cancel_requested: bool,
    /// Its [follow-ups](crate::Item::follow_up), as it was given them. None for items that have been completed or
    /// cancelled, and if the item was read without its data.
    pub follow_ups: Vec<FollowUp>,
}

impl ItemInfo {
    /// How much of a page it takes.
    #[cfg(feature = "sqlite")]
    pub(crate) fn bytes(&self) -> i64 {
        let follow_ups = self.follow_ups.iter().map(|follow_up| follow_up.item.size());
        let result = self.result.as_ref().map_or(0, Bytes::len);
        (self.data.len() + result + follow_ups.sum::<usize>()) as i64
    }

    /// As it is at this time, in ms since 1970: an item that has expired is dead, although no sweep has found it yet.
    pub(crate) fn seen_at(self, now_ms: u64) -> Self {
        match self.expires_at.is_some_and(|at| at <= from_ms(now_ms)) {
            true => self.expired(),
            false => self,
        }
    }

    /// As it is after it has expired, if it waits.
    pub(crate) fn expired(mut self) -> Self {
        if matches!(self.state, State::Ready | State::Delayed | State::Held) {
            (self.state, self.at) = (State::Dead, self.expires_at.take());
            self.last_error = NOT_LEASED.to_owned();
        }
        self
    }

    /// Whether its generation began after that one, in the same queue: `generation` is that of another item. False for
    /// text that is no generation.
    pub fn is_newer_than(&self, generation: &str) -> bool {
        let count = |text: &str| Generation::read(text.as_bytes()).map(|read| read.count);
        count(&self.generation).zip(count(generation)).is_some_and(|(own, other)| own > other)
    }

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

/// A page of [`WorkQueue::list`](crate::WorkQueue::list) or [`list_with`](crate::WorkQueue::list_with).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The items, in the order of leasing (ready and held) or of time (the others), or in the opposite order.
    pub items: Vec<ItemInfo>,
    /// Where to go on; `None` at the end.
    pub cursor: Option<Cursor>,
    /// How many entries of the queue the page has examined: its items, those that the options left out, and those
    /// whose item is gone.
    pub examined: u64,
}
