//! The queues at one time.

use std::collections::BTreeMap;

use crate::state::QueueState;

/// The queues at one time.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) counted: leaseq_report::Snapshot,
    /// The state of their cleaning.
    pub(crate) queues: BTreeMap<String, QueueState>,
}
