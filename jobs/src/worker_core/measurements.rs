//! What the worker has measured: since its start, and by queue.

use std::collections::BTreeMap;
use std::time::Duration;

use leaseq::{Measured, WorkQueue};

use super::running::Running;

#[derive(Debug, Default)]
pub(super) struct Measurements {
    /// Since the worker has started.
    pub(super) total: Measured,
    /// Since the last report, by the index of the queue. It has all queues of a worker that is listed, until that has left.
    pub(super) by_queue: BTreeMap<usize, (WorkQueue, Measured)>,
}

impl Measurements {
    /// A handler starts: for how long its job has waited, in µs.
    pub(super) fn note_start(&mut self, running: &Running) {
        let waited = running.waited().as_micros() as u64;
        self.note(running, |measured| measured.waiting.record(waited));
    }

    /// A job has ended: how long its handler ran, in µs, and how much of the first duration of its lease it has used, in
    /// thousandths.
    pub(super) fn note_end(&mut self, running: &Running, lease: Duration) {
        let elapsed = running.elapsed();
        let run = elapsed.as_micros() as u64;
        let used = (elapsed.as_secs_f64() / lease.as_secs_f64() * 1000.0) as u64;
        self.note(running, |measured| {
            measured.run.record(run);
            measured.lease_use.record(used);
        });
    }

    fn note(&mut self, running: &Running, note: impl Fn(&mut Measured)) {
        note(&mut self.total);
        if let Some((_, measured)) = self.by_queue.get_mut(&running.queue_index) {
            note(measured);
        }
    }
}
