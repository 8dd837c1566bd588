//! What a preview has covered, so that a change touches nothing newer.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use leaseq::ItemInfo;

/// The newest generation, and the latest end of an item, that a preview has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark {
    generation: String,
    /// In ms since 1970; 0: none has ended.
    ended: u64,
}

/// When it ended, in ms since 1970; 0: it has not.
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
    pub fn include(&mut self, info: &ItemInfo) {
        if self.generation.is_empty() || info.is_newer_than(&self.generation) {
            self.generation.clone_from(&info.generation);
        }
        self.ended = self.ended.max(ended(info));
    }

    /// Whether the preview could have seen it as it is.
    pub fn covers(&self, info: &ItemInfo) -> bool {
        !info.is_newer_than(&self.generation) && ended(info) <= self.ended
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.generation, self.ended)
    }
}

impl FromStr for Mark {
    type Err = String;

    fn from_str(text: &str) -> Result<Mark, String> {
        let wrong = || "this is no place that leaseq has named".to_owned();
        let (generation, ended) = text.split_once(',').ok_or_else(wrong)?;
        if generation.is_empty()
            || !generation.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        {
            return Err(wrong());
        }
        Ok(Mark { generation: generation.into(), ended: ended.parse().map_err(|_| wrong())? })
    }
}
