//! Where a listing continues.

use std::fmt;
use std::str::FromStr;

use super::state::State;
use crate::error::show_id;
use crate::{Error, Result};

/// Where a listing goes on. Opaque; good for the queue, the state and the direction it came from. As text it can
/// be kept, or handed to another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    pub(crate) reverse: bool,
    pub(crate) state: State,
    /// The place, as the engine spells it.
    pub(crate) place: String,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.reverse { 'r' } else { 'f' };
        write!(f, "{direction}:{}:{}", self.state.as_str(), self.place)
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        read(text).ok_or_else(|| {
            let shown = show_id(text.as_bytes());
            Error::invalid(format_args!("{shown} is not a cursor of a page"))
        })
    }
}

fn read(text: &str) -> Option<Cursor> {
    const MAX_PARTS: usize = 5;
    // A number, or an item as its engine names it.
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let is_part = |part: &str| (1..=256).contains(&part.len()) && part.chars().all(plain);
    let (direction, rest) = text.split_once(':')?;
    let (state, place) = rest.split_once(':')?;
    let is_place = place.split(':').count() <= MAX_PARTS && place.split(':').all(is_part);
    let reverse = match direction {
        "f" => false,
        "r" => true,
        _ => return None,
    };
    let state = State::ALL.into_iter().find(|known| known.as_str() == state)?;
    is_place.then(|| Cursor { reverse, state, place: place.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_cursor_can_be_kept_as_text() {
        for place in ["1763679123456:-42", "1.5e+3:8j2t94r9kEKd5K", "9:8j2t94r9k-_d5K:0:17:0"] {
            for reverse in [false, true] {
                let cursor = Cursor { reverse, state: State::Dead, place: place.into() };
                assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
            }
        }
    }

    #[test]
    fn text_that_is_no_cursor_is_refused() {
        let [long, longer] =
            [format!("f:dead:{}:1", "1".repeat(257)), format!("f:dead:1:{}", "a".repeat(257))];
        for text in [
            "",
            ":",
            "f",
            "f:",
            "1:1",
            "ff:1:2",
            ":1:2",
            "f:1:2",
            "f:gone:1:2",
            "f:dead",
            "f:dead:1:",
            "f:dead::1",
            "f:dead:1:2:3:4:5:6",
            "f:dead:1:'; DROP",
            "r:dead:1: 2",
            &long,
            &longer,
        ] {
            assert_eq!(text.parse::<Cursor>().unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
