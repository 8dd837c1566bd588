//! What a preview has covered, so that a change touches nothing newer.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use leaseq::{Cursor, ItemInfo};

/// The newest generation, and the latest end of an item, that a preview has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    generation: String,
    /// In ms since 1970; 0: none has ended.
    ended: u64,
}

fn ended(info: &ItemInfo) -> u64 {
    let time = match info.state {
        leaseq::State::Dead => info.at,
        _ => info.ended_at,
    };
    let since_1970 = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
    time.map_or(0, |time| u64::try_from(since_1970(time).as_millis()).unwrap_or(u64::MAX))
}

impl Mark {
    /// The preview has seen this one.
    pub(crate) fn include(&mut self, info: &ItemInfo) {
        if self.generation.is_empty() || info.is_newer_than(&self.generation) {
            self.generation.clone_from(&info.generation);
        }
        self.ended = self.ended.max(ended(info));
    }

    pub(crate) fn covers(&self, info: &ItemInfo) -> bool {
        !info.is_newer_than(&self.generation) && ended(info) <= self.ended
    }
}

/// Where an interrupted change goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resume {
    pub(crate) mark: Mark,
    /// `None`: at the beginning.
    pub(crate) cursor: Option<Cursor>,
}

impl fmt::Display for Resume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},", self.mark.generation, self.mark.ended)?;
        self.cursor.as_ref().map_or(Ok(()), |cursor| cursor.fmt(f))
    }
}

impl FromStr for Resume {
    type Err = String;

    fn from_str(text: &str) -> Result<Resume, String> {
        let wrong = || "this is no place that leaseq has named".to_owned();
        let mut parts = text.splitn(3, ',');
        let mut part = || parts.next().ok_or_else(wrong);
        let (generation, ended, cursor) = (part()?, part()?, part()?);
        if generation.is_empty()
            || !generation.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        {
            return Err(wrong());
        }
        let mark =
            Mark { generation: generation.into(), ended: ended.parse().map_err(|_| wrong())? };
        let cursor = match cursor {
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
