//! How many items a queue has.

use std::time::Duration;

use serde::Serialize;

use super::State;
use crate::serialize;

/// How many items are in each state, and more that operators watch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
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
    /// Completed items that are retained.
    pub completed: u64,
    /// Cancelled items that are retained.
    pub cancelled: u64,
    /// Items that wait until fewer of their key are leased. One of which no lease has found that its key is full counts
    /// as ready.
    pub held: u64,
    /// How long the oldest ready item has been ready; `None` if none is. A reclaimed or released
    /// item keeps its age; one that failed, or was delayed or requeued, counts from then.
    #[serde(rename = "oldest_ready_ms", serialize_with = "serialize::ms")]
    pub oldest_ready: Option<Duration>,
    /// Whether leasing is paused.
    pub paused: bool,
    /// Whether the rate of the queue is used up now: it gives no lease, however many items are ready.
    pub rate_limited: bool,
    /// What has happened since the queue was new.
    pub totals: Totals,
}

impl Counts {
    /// How many items are in this state.
    pub fn of(&self, state: State) -> u64 {
        match state {
            State::Ready => self.ready,
            State::Delayed => self.delayed,
            State::Leased => self.leased,
            State::Dead => self.dead,
            State::Completed => self.completed,
            State::Cancelled => self.cancelled,
            State::Held => self.held,
        }
    }
}

/// What has happened in a queue since it was new.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
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
    /// Items that became dead.
    pub died: u64,
    /// Items removed or purged.
    pub removed: u64,
    /// Items replaced by an add.
    pub replaced: u64,
    /// Items that became dead because nobody had leased them before they expired. They count in `died` too.
    pub expired_unleased: u64,
    /// Items that have ended because they were cancelled.
    pub cancelled: u64,
}
