//! Where following a queue goes on.

use std::fmt;
use std::str::FromStr;

use leaseq::EventCursor;

/// The place of one queue: `QUEUE=CURSOR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(super) queue: String,
    pub(super) cursor: EventCursor,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.queue, self.cursor)
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        let wrong = || "this is no place that leaseq tail has named: QUEUE=CURSOR".to_owned();
        let (queue, cursor) = text.split_once('=').ok_or_else(wrong)?;
        let cursor = cursor.parse().map_err(|_| wrong())?;
        Ok(Place { queue: queue.to_owned(), cursor })
    }
}

/// As `--continue` takes them.
pub(super) fn list(places: &[Place]) -> String {
    places.iter().map(Place::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_from_its_text() {
        for text in ["orders=7264512000001-1790000000000", "a.b-c_d=start", "q=now"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        for wrong in ["", "orders", "orders=", "=", "orders=1", "orders=1-2=3"] {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }
}
