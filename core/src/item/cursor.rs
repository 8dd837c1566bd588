//! Where a listing continues.

use std::fmt;
use std::str::FromStr;

use crate::error::show_id;
use crate::{Error, Result};

/// Where a listing goes on. Opaque; good for the queue and state it came from. As text it can be
/// kept, or handed to another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub(crate) String, pub(crate) String);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0, self.1)
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let short = |part: &str| (1..=32).contains(&part.len());
        let number = |part: &str| part.parse::<f64>().is_ok_and(f64::is_finite);
        // A number, or an item as its engine names it.
        let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
        match text.split_once(':') {
            Some((first, second))
                if short(first) && number(first) && short(second) && second.chars().all(name) =>
            {
                Ok(Cursor(first.into(), second.into()))
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
        for second in ["-42", "8j2t94r9kEKd5K", "8j2t94r9k-_d5K"] {
            let cursor = Cursor("1763679123456".into(), second.into());
            assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
        }
    }

    #[test]
    fn text_that_is_no_cursor_is_refused() {
        let [long, longer] = [format!("{}:1", "1".repeat(33)), format!("1:{}", "a".repeat(33))];
        for text in ["", ":", "1", "1:", ":1", "1:2:3", "inf:1", "a:1", "1:'; DROP", &long, &longer]
        {
            assert_eq!(text.parse::<Cursor>().unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
