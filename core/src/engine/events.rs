//! Events as engines store them.

use bytes::Bytes;

use crate::event::{Event, EventCursor, EventKind, EventsPage, Place};
use crate::unix_time::from_ms;

/// Events that one step has made, with numbers one after the other.
#[derive(Debug)]
pub(crate) struct EventEntry {
    /// The number of the last one.
    pub(crate) last: u64,
    /// In ms since 1970.
    pub(crate) at: u64,
    pub(crate) events: Vec<StoredEvent>,
}

#[derive(Debug)]
pub(crate) struct StoredEvent {
    pub(crate) kind: EventKind,
    pub(crate) generation: String,
    pub(crate) id: Option<Bytes>,
    pub(crate) attempt: Option<u32>,
}

/// Which events are asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WhichEvents {
    pub(crate) after: Place,
    pub(crate) limit: usize,
}

/// What an engine has found behind a place.
#[derive(Debug)]
pub(crate) struct FoundEvents {
    /// Others were there that are not kept.
    pub(crate) gap: bool,
    /// Behind which number and time these come.
    pub(crate) from: (u64, u64),
    /// They may have events before that place.
    pub(crate) entries: Vec<EventEntry>,
}

impl WhichEvents {
    /// The page of a queue that keeps no events. Its reader has begun: it learns later if it has missed some.
    pub(crate) fn nothing(&self) -> EventsPage {
        let place = match self.after {
            Place::Start | Place::Now => Place::After { number: 0, at: 0 },
            other @ Place::After { .. } => other,
        };
        EventsPage { events: Vec::new(), cursor: EventCursor(place), gap: false }
    }

    pub(crate) fn page(&self, found: FoundEvents) -> EventsPage {
        let (from, mut at) = found.from;
        // What a reader has seen before a server lost its latest data does not come again.
        let seen = |number: u64, time: u64| match self.after {
            Place::After { number: last, at } => found.gap && number <= last && time <= at,
            _ => false,
        };
        let (mut events, mut number) = (Vec::new(), from);
        for entry in found.entries {
            let before = entry.last.saturating_sub(entry.events.len() as u64);
            for (event, own) in entry.events.into_iter().zip(before + 1..) {
                if own <= from || events.len() == self.limit {
                    continue;
                }
                (number, at) = (own, entry.at);
                if seen(own, entry.at) {
                    continue;
                }
                events.push(Event {
                    number: own,
                    kind: event.kind,
                    at: from_ms(entry.at),
                    generation: event.generation,
                    id: event.id,
                    attempt: event.attempt,
                });
            }
        }
        let cursor = EventCursor(Place::After { number, at });
        EventsPage { events, cursor, gap: found.gap }
    }
}
