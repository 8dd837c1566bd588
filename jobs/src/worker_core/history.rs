//! What the worker measures goes into the histories of its queues.

use std::collections::BTreeMap;
use std::time::Duration;

use leaseq::{Measured, WorkQueue};

use super::log;
use super::running::Running;
use super::state::Shared;

/// How often it is reported.
pub(super) const INTERVAL: Duration = Duration::from_secs(60);

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

impl Shared {
    /// Reports what was measured. What certainly did not arrive goes with the next report.
    pub(super) async fn record_history(&self) {
        let measurements = std::mem::take(&mut self.lock().measurements);
        for (index, (queue, measured)) in measurements {
            let Err(error) = queue.record_history(&measured).await else { continue };
            log::not_recorded(&queue, &error);
            if !error.outcome_unknown() {
                let mut state = self.lock();
                let entry = state.measurements.entry(index);
                entry.or_insert_with(|| (queue, Measured::default())).1.merge(&measured);
            }
        }
    }
}
