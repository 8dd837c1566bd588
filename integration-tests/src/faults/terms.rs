//! What a run is given, and what comes of it.

use std::time::Duration;

use crate::conformance::testee::Language;

/// The result of a run.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) adds: usize,
    pub(super) leases: usize,
    pub(super) completes: usize,
    pub(super) unknown: usize,
    /// How many runs had an extended queue.
    pub(super) extended: usize,
    /// How often something was broken.
    pub(super) times: u64,
    /// Violations that a window excuses.
    pub(super) excused: usize,
    /// Violations, each with the history of the item concerned.
    pub(super) faults: Vec<String>,
    /// Why it was not run.
    pub(super) skipped: Option<String>,
}

/// Duration, languages and seed.
#[derive(Clone)]
pub(super) struct Terms {
    pub(super) languages: Vec<Language>,
    pub(super) time: Duration,
    pub(super) seed: u64,
}
