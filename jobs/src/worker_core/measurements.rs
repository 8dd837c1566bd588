//! What the worker has measured, by queue.

use std::collections::BTreeMap;

use leaseq::{Measured, WorkQueue};

use super::running::Running;

/// What was measured since the last report, by the index of the queue.
pub(super) type Measurements = BTreeMap<usize, (WorkQueue, Measured)>;

/// A job has ended: how long its handler ran, in µs, and how much of the first duration of its lease it has used, in
/// thousandths.
pub(super) fn measure(measurements: &mut Measurements, running: &Running, run: u64, used: u64) {
    let (_, measured) = measurements
        .entry(running.queue_index)
        .or_insert_with(|| (running.queue.clone(), Measured::default()));
    measured.run.record(run);
    measured.lease_use.record(used);
}
