//! Events: what has changed in a queue that keeps its last changes.

mod cursor;
mod json;

use std::time::{Duration, SystemTime};

use bytes::Bytes;

pub use self::cursor::EventCursor;
pub(crate) use self::cursor::Place;
use crate::options::{DEFAULT_EVENTS_PAGE, MAX_EVENTS_PAGE};
use crate::unix_time::to_ms;
use crate::{Error, Result};

/// What has happened to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EventKind {
    /// It was added.
    Added,
    /// It was leased.
    Leased,
    /// It was completed.
    Completed,
    /// A lease of it has failed.
    Failed,
    /// A lease of it has expired, and somebody has reclaimed it.
    Expired,
    /// A lease of it was released.
    Released,
    /// It is dead: after its last attempt, because it has expired, or because it was buried.
    Dead,
    /// It was dead, and was made ready.
    Requeued,
    /// It was removed: by a call, by a purge, or because the settings of the queue did not allow it any longer.
    Removed,
    /// It was replaced by an item that was added.
    Replaced,
    /// It was cancelled.
    Cancelled,
    /// It was revised.
    Revised,
}

impl EventKind {
    pub(crate) const ALL: [EventKind; 12] = [
        EventKind::Added,
        EventKind::Leased,
        EventKind::Completed,
        EventKind::Failed,
        EventKind::Expired,
        EventKind::Released,
        EventKind::Dead,
        EventKind::Requeued,
        EventKind::Removed,
        EventKind::Replaced,
        EventKind::Cancelled,
        EventKind::Revised,
    ];

    /// As every language spells it: `added`, `leased`, and so on.
    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::Added => "added",
            EventKind::Leased => "leased",
            EventKind::Completed => "completed",
            EventKind::Failed => "failed",
            EventKind::Expired => "expired",
            EventKind::Released => "released",
            EventKind::Dead => "dead",
            EventKind::Requeued => "requeued",
            EventKind::Removed => "removed",
            EventKind::Replaced => "replaced",
            EventKind::Cancelled => "cancelled",
            EventKind::Revised => "revised",
        }
    }

    /// Whether it is about an attempt.
    pub(crate) fn has_attempt(self) -> bool {
        use EventKind::{Completed, Expired, Failed, Leased, Released};
        matches!(self, Leased | Completed | Failed | Expired | Released)
    }

    /// The letter by which the engines store it.
    pub(crate) fn letter(self) -> u8 {
        match self {
            EventKind::Added => b'a',
            EventKind::Leased => b'l',
            EventKind::Completed => b'c',
            EventKind::Failed => b'f',
            EventKind::Expired => b'e',
            EventKind::Released => b'b',
            EventKind::Dead => b'd',
            EventKind::Requeued => b'q',
            EventKind::Removed => b'r',
            EventKind::Replaced => b'p',
            EventKind::Cancelled => b'x',
            EventKind::Revised => b'v',
        }
    }

    pub(crate) fn from_letter(letter: u8) -> Option<EventKind> {
        EventKind::ALL.into_iter().find(|kind| kind.letter() == letter)
    }
}

/// A change of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Its place among the events of the queue: each has a higher one than all before it. Numbers of a queue that is
    /// dropped and made again go on, as do those of a queue whose events are switched off and on again.
    pub number: u64,
    /// What has happened.
    pub kind: EventKind,
    /// When, by the server's clock.
    pub at: SystemTime,
    /// The generation of the item, as [`ItemInfo::generation`](crate::ItemInfo::generation). An item that is buried,
    /// revised, or retained after it was not leased, gets another one, which the event has.
    pub generation: String,
    /// The id of the item. An event has it if the change knows it without reading the item: those of calls that name
    /// ids, of adds and of completions. Others have the generation of an event before that has it.
    pub id: Option<Bytes>,
    /// Which attempt it was, from 1 on since the add or the last requeue: for events that are about a lease.
    pub attempt: Option<u32>,
}

impl Event {
    /// Where reading goes on behind this event, for a reader that stops within a page.
    pub fn cursor(&self) -> EventCursor {
        EventCursor(Place::After { number: self.number, at: to_ms(self.at) })
    }
}

/// Some events, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventsPage {
    /// The events, the earliest first; none if there are no more.
    pub events: Vec<Event>,
    /// Where to go on: behind the last of them.
    pub cursor: EventCursor,
    /// Whether there were events between the cursor of the call and these that are not kept any more.
    pub gap: bool,
}

/// Which events to read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventsOptions {
    /// Behind which to begin. Default: with the oldest one that is kept.
    pub after: Option<EventCursor>,
    /// How many at most, 1 to 1,000. Default: 100.
    pub limit: usize,
    /// For how long to wait if there is none yet. Default: not at all.
    pub wait: Duration,
}

impl Default for EventsOptions {
    fn default() -> Self {
        EventsOptions { after: None, limit: DEFAULT_EVENTS_PAGE, wait: Duration::ZERO }
    }
}

impl EventsOptions {
    /// The defaults.
    pub fn new() -> Self {
        EventsOptions::default()
    }

    /// Begins behind this place.
    pub fn after(mut self, cursor: impl Into<Option<EventCursor>>) -> Self {
        self.after = cursor.into();
        self
    }

    /// Reads at most so many, 1 to 1,000.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Waits as long for the first one.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    pub(crate) fn validate(&self) -> Result<Place> {
        if !(1..=MAX_EVENTS_PAGE).contains(&self.limit) {
            let limit = self.limit;
            return Err(Error::invalid(format_args!(
                "a limit of {limit} events is not between 1 and {MAX_EVENTS_PAGE}"
            )));
        }
        Ok(self.after.as_ref().map_or(Place::Start, |cursor| cursor.0))
    }
}
