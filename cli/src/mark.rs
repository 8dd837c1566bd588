//! Where an interrupted change goes on.

use std::fmt;
use std::str::FromStr;

use leaseq::Cursor;
pub(crate) use leaseq_report::Mark;

/// Where an interrupted change goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resume {
    pub(crate) mark: Mark,
    /// `None`: at the beginning.
    pub(crate) cursor: Option<Cursor>,
}

impl fmt::Display for Resume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},", self.mark)?;
        self.cursor.as_ref().map_or(Ok(()), |cursor| cursor.fmt(f))
    }
}

impl FromStr for Resume {
    type Err = String;

    fn from_str(text: &str) -> Result<Resume, String> {
        let wrong = || "this is no place that leaseq has named".to_owned();
        let split = text.match_indices(',').nth(1).ok_or_else(wrong)?.0;
        let mark = text[..split].parse()?;
        let cursor = match &text[split + 1..] {
            "" => None,
            cursor => Some(cursor.parse().map_err(|_| wrong())?),
        };
        Ok(Resume { mark, cursor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_from_its_text() {
        for text in ["8j2t94r9kEKd5K,0,", "8j2t94r9kEKd5K,1795618987362,f:dead:1763679123456:-42"] {
            assert_eq!(text.parse::<Resume>().unwrap().to_string(), text);
        }
        for wrong in ["", "a", "a,b,", ",0,", "a,0,f:dead", "a b,0,"] {
            assert!(wrong.parse::<Resume>().is_err(), "{wrong}");
        }
    }
}
