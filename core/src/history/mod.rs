//! The history of a queue: totals and measurements for each minute of a day, and each hour of a month.

mod json;

use std::time::SystemTime;

use crate::histogram::Histogram;
use crate::item::Totals;

/// What the workers of a queue have measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measured {
    /// For how long items were ready before they were leased, in µs.
    pub waiting: Histogram,
    /// For how long workers worked on items, in µs.
    pub run: Histogram,
    /// How much of their leases items had used when they ended, in thousandths.
    pub lease_use: Histogram,
}

impl Measured {
    /// Adds what the other one has counted.
    pub fn merge(&mut self, other: &Measured) {
        self.waiting.merge(&other.waiting);
        self.run.merge(&other.run);
        self.lease_use.merge(&other.lease_use);
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        [&self.waiting, &self.run, &self.lease_use].iter().all(|histogram| histogram.count() == 0)
    }
}

/// Which rows of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HistoryKind {
    /// One for each minute of the last day.
    Minutes,
    /// One for each hour of the last 31 days.
    Hours,
}

/// A row of the history: how the queue was when its minute or hour began, and what was measured in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryRow {
    /// When it was written: at the first report of its minute or hour.
    pub at: SystemTime,
    /// What had happened in the queue until then. The difference to the next row is what happened in between.
    pub totals: Totals,
    /// Items that were ready then.
    pub ready: u64,
    /// Items that were delayed.
    pub delayed: u64,
    /// Items that were leased.
    pub leased: u64,
    /// Items that were dead.
    pub dead: u64,
    /// Items that were held.
    pub held: u64,
    /// What workers have reported in this minute or hour.
    pub measured: Measured,
}
