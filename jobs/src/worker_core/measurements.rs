//! What the worker has measured, by queue.

use std::collections::BTreeMap;

use leaseq::{Measured, WorkQueue};

use super::running::Running;

/// What was measured since the last report, by the index of the queue. It has all queues of a worker that is
/// listed, until that has left.
pub(super) type Measurements = BTreeMap<usize, (WorkQueue, Measured)>;

/// A job has ended: how long its handler ran, in µs, and how much of the first duration of its lease it has used, in
/// thousandths.
pub(super) fn measure(measurements: &mut Measurements, running: &Running, run: u64, used: u64) {
    if let Some((_, measured)) = measurements.get_mut(&running.queue_index) {
        measured.run.record(run);
        measured.lease_use.record(used);
    }
}
