//! What the worker measures goes into the histories of its queues.

use std::time::Duration;

use leaseq::Measured;

use super::log;
use super::state::Shared;

/// How often it is reported.
pub(super) const INTERVAL: Duration = Duration::from_secs(60);

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
