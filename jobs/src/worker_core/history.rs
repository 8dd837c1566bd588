//! What the worker measures goes into the histories of its queues.

use std::time::Duration;

use leaseq::ErrorKind;

use super::log;
use super::state::{Phase, Shared};

/// How often it is reported: a little more often than a minute, so that each minute has its row. A queue in which nobody
/// records for some time cannot say when in that time something happened.
pub(super) const INTERVAL: Duration = Duration::from_secs(50);

impl Shared {
    /// Reports what was measured to all queues, also where that is nothing: somebody has to write the row of the minute.
    /// A worker that has ended leaves that to others. What certainly did not arrive goes with the next report.
    pub(super) async fn record_history(&self) {
        let queues: Vec<usize> = self.lock().measurements.keys().copied().collect();
        for index in queues {
            let taken = {
                let mut state = self.lock();
                let is_over = state.phase >= Phase::Stopped;
                let found = state.measurements.get_mut(&index);
                found
                    .filter(|(_, measured)| !is_over || !measured.is_empty())
                    .map(|(queue, measured)| (queue.clone(), std::mem::take(measured)))
            };
            let Some((queue, measured)) = taken else { continue };
            let Err(error) = queue.record_history(&measured).await else { continue };
            if error.kind() != ErrorKind::Closed && !measured.is_empty() {
                log::not_recorded(&queue, &error);
            }
            if !error.outcome_unknown() {
                let mut state = self.lock();
                if let Some((_, kept)) = state.measurements.get_mut(&index) {
                    kept.merge(&measured);
                }
            }
        }
    }
}
