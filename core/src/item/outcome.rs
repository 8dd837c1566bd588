//! How items have ended.

use bytes::Bytes;

/// How an item has ended, as [`WorkQueue::outcome`](crate::WorkQueue::outcome) returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It was completed.
    Completed {
        /// The result, if the item had one and is [retained](crate::Item::retain).
        result: Option<Bytes>,
        /// Whether the item is retained. If not, nobody knows whether it had a result.
        retained: bool,
    },
    /// It failed or expired for the last time, or was buried.
    Dead {
        /// The text of the last error, perhaps empty.
        error: String,
    },
    /// It was cancelled.
    Cancelled,
    /// An operator removed it, or an item with another id and its unique key replaced it.
    Removed,
    /// There is no such item: it has ended without being retained, and how is not known any more, or it was never
    /// added.
    Gone,
}

impl Outcome {
    /// The outcome as a word: `completed`, `dead`, `cancelled`, `removed` or `gone`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Outcome::Completed { .. } => "completed",
            Outcome::Dead { .. } => "dead",
            Outcome::Cancelled => "cancelled",
            Outcome::Removed => "removed",
            Outcome::Gone => "gone",
        }
    }

    /// Whether the item was completed.
    pub fn is_completed(&self) -> bool {
        matches!(self, Outcome::Completed { .. })
    }

    /// The result of a completed item.
    pub fn result(&self) -> Option<&Bytes> {
        match self {
            Outcome::Completed { result, .. } => result.as_ref(),
            _ => None,
        }
    }

    /// The last error of a dead item.
    pub fn error(&self) -> Option<&str> {
        match self {
            Outcome::Dead { error } => Some(error),
            _ => None,
        }
    }
}
