//! Schedules as engines store them, and how they are replaced.

use bytes::Bytes;

use crate::item::Item;

/// A schedule as an engine stores it.
#[derive(Debug, Clone)]
pub(crate) struct StoredSchedule {
    pub(crate) name: String,
    /// Changes with each change of it. Empty for remains that are no schedule.
    pub(crate) version: String,
    /// The id of the last item that it has added.
    pub(crate) last_id: Option<Bytes>,
    /// When it is due.
    pub(crate) next_ms: Option<u64>,
    /// Opaque to the engine: a line, and data that may be long.
    pub(crate) body: Bytes,
}

#[derive(Debug, Clone)]
pub(crate) enum WhichSchedules {
    /// The one with this name, if there is one.
    Named(String),
    /// Those that are due, some of them.
    Due,
    /// Some of those behind this name, in an order of the engine.
    After(String),
}

#[derive(Debug)]
pub(crate) struct Schedules {
    /// There are follow-ups to [add](crate::engine::Engine::distribute), if those that are due were wanted.
    pub(crate) deferred: bool,
    /// Milliseconds since 1970 on the engine's clock.
    pub(crate) now_ms: u64,
    pub(crate) found: Vec<StoredSchedule>,
    /// When the first of those is due that are not due yet.
    pub(crate) next_ms: Option<u64>,
}

/// Replaces a schedule if its version is the expected one.
#[derive(Debug, Clone)]
pub(crate) struct Swap {
    pub(crate) name: String,
    /// Empty: there must be none.
    pub(crate) expected: String,
    /// 16 characters that no other version has; empty: the schedule is deleted.
    pub(crate) version: String,
    pub(crate) body: Bytes,
    pub(crate) next_ms: Option<u64>,
    /// Added in the same step, for one that exists.
    pub(crate) items: Vec<Item>,
    /// The items are not added if the last one of the schedule has not ended.
    pub(crate) unless_live: bool,
}

impl Swap {
    pub(crate) fn first(name: &str, body: Bytes, next_ms: Option<u64>) -> Swap {
        let random: u64 = rand::random();
        Swap {
            name: name.to_owned(),
            expected: String::new(),
            version: format!("{random:016x}"),
            body,
            next_ms,
            items: Vec::new(),
            unless_live: false,
        }
    }

    pub(crate) fn new(stored: &StoredSchedule, body: Bytes, next_ms: Option<u64>) -> Swap {
        Swap { expected: stored.version.clone(), ..Swap::first(&stored.name, body, next_ms) }
    }

    pub(crate) fn deletion(stored: &StoredSchedule) -> Swap {
        Swap { version: String::new(), ..Swap::new(stored, Bytes::new(), None) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Swapped {
    /// Another version is stored.
    Refused,
    /// There is none, and the queue has as many as it may have.
    Full,
    /// Swapped, without the items, because the last one of the schedule has not ended.
    Skipped,
    /// Swapped, and which of the items were added.
    Done { added: Vec<bool> },
}
