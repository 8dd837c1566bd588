//! What has happened to an item before.

use std::time::SystemTime;

use serde::Serialize;

use crate::unix_time::from_ms;
#[cfg(feature = "sqlite")]
use crate::unix_time::to_ms;

/// The end of a lease without completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ending {
    /// When it ended, on the server's clock. For an expired lease: when it was reclaimed.
    pub at: SystemTime,
    /// How it ended.
    pub kind: EndingKind,
}

/// How a lease ended without completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EndingKind {
    /// With `fail`.
    Failed,
    /// It expired and was reclaimed.
    Expired,
}

impl EndingKind {
    /// `failed` or `expired`.
    pub fn as_str(self) -> &'static str {
        match self {
            EndingKind::Failed => "failed",
            EndingKind::Expired => "expired",
        }
    }
}

/// Releases for the same reason, one after the other. A release for another reason, or for none, a failed and an
/// expired lease begin anew, and so does `requeue`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Releases {
    /// The reason that each `release` gave.
    pub reason: String,
    /// How many there were.
    pub count: u32,
    /// When the first one was, on the server's clock.
    pub first_at: SystemTime,
}

/// How many ends of leases are kept with an item.
#[cfg(feature = "sqlite")]
const MAX_ENDINGS: usize = 16;

/// What is kept with an item of the ends of its leases. Both engines store it as
/// `endings:releases:released:reason`: each ending a letter and the time in ms since 1970, then the number
/// of releases, the time of the first one, and the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct History {
    pub(crate) endings: Vec<Ending>,
    pub(crate) releases: Option<Releases>,
}

impl History {
    /// `None` if the text is something else.
    pub(crate) fn read(packed: &[u8]) -> Option<History> {
        let mut parts = packed.splitn(4, |byte| *byte == b':');
        let mut part = || std::str::from_utf8(parts.next()?).ok();
        let endings = read_endings(part()?)?;
        let (count, first_at): (u32, u64) = (part()?.parse().ok()?, part()?.parse().ok()?);
        let reason = String::from_utf8_lossy(parts.next()?).into_owned();
        let first_at = from_ms(first_at);
        let releases = (count > 0).then_some(Releases { reason, count, first_at });
        Some(History { endings, releases })
    }
}

#[cfg(feature = "sqlite")]
impl History {
    /// The text that [`read`](History::read) reads; empty if nothing has happened.
    pub(crate) fn packed(&self) -> String {
        if *self == History::default() {
            return String::new();
        }
        let mut packed = String::new();
        for ending in &self.endings {
            packed.push(match ending.kind {
                EndingKind::Failed => 'F',
                EndingKind::Expired => 'E',
            });
            packed.push_str(&to_ms(ending.at).to_string());
        }
        let (count, first_at, reason) = match &self.releases {
            Some(releases) => (releases.count, to_ms(releases.first_at), &*releases.reason),
            None => (0, 0, ""),
        };
        format!("{packed}:{count}:{first_at}:{reason}")
    }

    /// A lease has failed or expired.
    pub(crate) fn note_ending(&mut self, kind: EndingKind, at_ms: u64) {
        if self.endings.len() >= MAX_ENDINGS {
            self.endings.remove(0);
        }
        self.endings.push(Ending { at: from_ms(at_ms), kind });
        self.releases = None;
    }

    /// A lease was released, for a reason unless it is empty.
    pub(crate) fn note_release(&mut self, reason: &str, at_ms: u64) {
        match &mut self.releases {
            Some(releases) if releases.reason == reason => {
                releases.count = releases.count.saturating_add(1);
            }
            releases => {
                *releases = (!reason.is_empty()).then(|| Releases {
                    reason: reason.to_owned(),
                    count: 1,
                    first_at: from_ms(at_ms),
                });
            }
        }
    }
}

fn read_endings(packed: &str) -> Option<Vec<Ending>> {
    let mut endings = Vec::new();
    let mut rest = packed;
    while let Some(letter) = rest.chars().next() {
        let kind = match letter {
            'F' => EndingKind::Failed,
            'E' => EndingKind::Expired,
            _ => return None,
        };
        let end = rest[1..].find(['F', 'E']).map_or(rest.len(), |at| at + 1);
        endings.push(Ending { at: from_ms(rest[1..end].parse().ok()?), kind });
        rest = &rest[end..];
    }
    Some(endings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_read_with_any_reason() {
        let history = History::read(b"F1790000000000E1790000000001:2:1790000000002:a:;b").unwrap();
        let kinds: Vec<_> = history.endings.iter().map(|ending| ending.kind).collect();
        assert_eq!(kinds, [EndingKind::Failed, EndingKind::Expired]);
        assert_eq!(history.endings[1].at, from_ms(1_790_000_000_001));
        let releases = history.releases.unwrap();
        assert_eq!((releases.reason.as_str(), releases.count), ("a:;b", 2));
        assert_eq!(releases.first_at, from_ms(1_790_000_000_002));
        for broken in ["", "F:0:0:", "X1:0:0:", "F1:0:0", "1:0:0:", "F1:x:0:"] {
            assert_eq!(History::read(broken.as_bytes()), None, "{broken}");
        }
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn the_last_endings_are_kept_and_releases_of_one_reason_are_counted() {
        let mut history = History::default();
        assert_eq!(history.packed(), "");
        for ms in 0..20 {
            let kind = if ms % 3 == 0 { EndingKind::Expired } else { EndingKind::Failed };
            history.note_ending(kind, ms);
            assert_eq!(history.endings.len() as u64, (ms + 1).min(16));
            assert_eq!(history.endings.last(), Some(&Ending { at: from_ms(ms), kind }));
            assert_eq!(History::read(history.packed().as_bytes()), Some(history.clone()));
        }
        assert_eq!(history.endings[0].at, from_ms(4));
        for (reason, count) in [("a:", 1), ("a:", 2), ("b", 1), ("", 0), ("b", 1), ("b", 2)] {
            history.note_release(reason, 30);
            assert_eq!(history.releases.as_ref().map_or(0, |releases| releases.count), count);
            assert_eq!(History::read(history.packed().as_bytes()), Some(history.clone()));
        }
        history.note_ending(EndingKind::Failed, 40);
        assert_eq!(history.releases, None);
    }
}
