//! Where reading events goes on.

use std::fmt;
use std::str::FromStr;

use crate::error::show_id;
use crate::{Error, Result};

/// Where reading events goes on. Opaque; good for the queue that it came from, also after a restart of the reader. As
/// text it can be kept, or handed to another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCursor(pub(crate) Place);

/// A place among the events of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before the oldest one that is kept.
    Start,
    /// Behind the last one.
    Now,
    /// Behind the one with this number and time, in ms since 1970. With another time it is another event: a server has
    /// lost its latest data since.
    After { number: u64, at: u64 },
}

impl EventCursor {
    /// Before the oldest event that is kept.
    pub fn start() -> Self {
        EventCursor(Place::Start)
    }

    /// Behind the last event at the time of the call.
    pub fn now() -> Self {
        EventCursor(Place::Now)
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Place::Start => f.write_str("start"),
            Place::Now => f.write_str("now"),
            Place::After { number, at } => write!(f, "{number}-{at}"),
        }
    }
}

impl FromStr for EventCursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        // Numbers that every engine and language can store.
        let number = |text: &str| {
            let plain = (1..=15).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
            if plain { text.parse().ok() } else { None }
        };
        let place = match text {
            "start" => Some(Place::Start),
            "now" => Some(Place::Now),
            _ => text.split_once('-').and_then(|(count, at)| {
                Some(Place::After { number: number(count)?, at: number(at)? })
            }),
        };
        place.map(EventCursor).ok_or_else(|| {
            let shown = show_id(text.as_bytes());
            Error::invalid(format_args!("{shown} is not a cursor of events"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_cursor_can_be_kept_as_text() {
        for text in ["start", "now", "0-0", "7264512000001-1790000000000"] {
            assert_eq!(text.parse::<EventCursor>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn text_that_is_no_cursor_is_refused() {
        for text in
            ["", "-", "1", "1-", "-1", "1--1", "1-2-3", "+1-2", "1- 2", "1234567890123456-1", "é-1"]
        {
            assert_eq!(
                text.parse::<EventCursor>().unwrap_err().kind(),
                ErrorKind::Invalid,
                "{text}"
            );
        }
    }
}
