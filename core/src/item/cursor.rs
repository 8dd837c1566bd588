//! Where a listing continues.

use std::fmt;
use std::str::FromStr;

use crate::error::show_id;
use crate::{Error, Result};

/// Where a listing goes on. Opaque; good for the queue, the state and the direction it came from. As text it can
/// be kept, or handed to another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    pub(crate) reverse: bool,
    /// The place, as the engine spells it.
    pub(crate) place: String,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", if self.reverse { 'r' } else { 'f' }, self.place)
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        const MAX_PARTS: usize = 4;
        // A number, or an item as its engine names it.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
        let is_part = |part: &str| (1..=32).contains(&part.len()) && part.chars().all(plain);
        match text.split_once(':') {
            Some((direction @ ("f" | "r"), place))
                if place.split(':').count() <= MAX_PARTS && place.split(':').all(is_part) =>
            {
                Ok(Cursor { reverse: direction == "r", place: place.into() })
            }
            _ => Err(Error::invalid(format_args!(
                "{} is not a cursor of a page",
                show_id(text.as_bytes())
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_cursor_can_be_kept_as_text() {
        for place in ["1763679123456:-42", "1.5e+3:8j2t94r9kEKd5K", "9:8j2t94r9k-_d5K:0:17"] {
            for reverse in [false, true] {
                let cursor = Cursor { reverse, place: place.into() };
                assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
            }
        }
    }

    #[test]
    fn text_that_is_no_cursor_is_refused() {
        let [long, longer] = [format!("f:{}:1", "1".repeat(33)), format!("f:1:{}", "a".repeat(33))];
        for text in [
            "",
            ":",
            "f",
            "f:",
            "1:1",
            "ff:1:2",
            ":1:2",
            "f:1:",
            "f::1",
            "f:1:2:3:4:5",
            "f:1:'; DROP",
            "r:1: 2",
            &long,
            &longer,
        ] {
            assert_eq!(text.parse::<Cursor>().unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
