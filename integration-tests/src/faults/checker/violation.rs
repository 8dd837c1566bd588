//! What the checker finds.

use crate::faults::history::Id;

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::faults) struct Violation {
    /// `None` if it concerns the whole queue.
    pub(in crate::faults) id: Option<Id>,
    pub(in crate::faults) what: String,
}

pub(super) fn violation(id: &str, what: impl Into<String>) -> Violation {
    Violation { id: Some(id.to_owned()), what: what.into() }
}
