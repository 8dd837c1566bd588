//! What the worker measures goes into the histories of its queues.

use std::collections::VecDeque;
use std::time::Duration;

use leaseq::ErrorKind;

use super::log;
use super::state::{Phase, Shared};

/// How often it is reported: a little more often than a minute, so that each minute has its row. A queue in which nobody
/// records for some time cannot say when in that time something happened.
pub(super) const INTERVAL: Duration = Duration::from_secs(50);

/// How many queues in which nothing was measured are reported with a beat. So an idle worker stays quiet, however many
/// queues it has; from eleven on, it takes longer than a minute to come to all of them.
pub(super) const IDLE_AT_ONCE: usize = 2;

impl Shared {
    /// The queues in which something was measured, and the others. Somebody has to write the rows of those, too.
    pub(super) fn measured_queues(&self) -> (Vec<usize>, VecDeque<usize>) {
        let (mut measured, mut idle) = (Vec::new(), VecDeque::new());
        for (index, (_, histograms)) in &self.lock().measurements.by_queue {
            if histograms.is_empty() { idle.push_back(*index) } else { measured.push(*index) }
        }
        (measured, idle)
    }

    /// Reports to this queue what was measured. A worker that has ended reports only where there is something. What
    /// certainly did not arrive goes with the next report.
    pub(super) async fn record_history(&self, index: usize) {
        let taken = {
            let mut state = self.lock();
            let is_over = state.phase >= Phase::Stopped;
            let found = state.measurements.by_queue.get_mut(&index);
            found
                .filter(|(_, measured)| !is_over || !measured.is_empty())
                .map(|(queue, measured)| (queue.clone(), std::mem::take(measured)))
        };
        let Some((queue, measured)) = taken else { return };
        let Err(error) = queue.record_history(&measured).await else { return };
        if error.kind() != ErrorKind::Closed && !measured.is_empty() {
            log::not_recorded(&queue, &error);
        }
        if !error.outcome_unknown() {
            let mut state = self.lock();
            if let Some((_, kept)) = state.measurements.by_queue.get_mut(&index) {
                kept.merge(&measured);
            }
        }
    }
}
