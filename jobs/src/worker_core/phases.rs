//! From one phase of the worker to the next.

use std::sync::Arc;

use leaseq::Error;

use super::capacity::Waiting;
use super::exit::ExitReason;
use super::reason::Reason;
use super::settler;
use super::state::{Phase, Shared};

impl Shared {
    /// Leases nothing more. Releases what waits to be started.
    pub(super) fn stop_leasing(self: &Arc<Self>, reason: ExitReason) {
        let mut state = self.lock();
        if state.phase != Phase::Leasing {
            return;
        }
        state.phase = Phase::Draining;
        state.reason = reason;
        self.give_back_waiting(&mut state, Waiting::All);
        state.end_if_idle(&self.options);
        drop(state);
        self.wake_all();
    }

    /// A burst has found nothing more to lease after so many tasks had ended: it ends if nothing runs either.
    pub(super) fn end_burst(&self, ended: u64) {
        let mut state = self.lock();
        if state.phase == Phase::Leasing && state.tasks.is_empty() && state.ended == ended {
            state.phase = Phase::Stopped;
            state.reason = ExitReason::Idle;
            drop(state);
            self.wake_all();
        }
    }

    /// The worker has ended, whatever still runs.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.phase = state.phase.max(Phase::Stopped);
        drop(state);
        self.wake_all();
    }

    /// Ends at once: nothing that happens from now on is reported to the queue, and nobody extends the leases of
    /// handlers that have returned. Does nothing if the worker has ended.
    pub(super) fn abort(&self, reason: ExitReason, error: Option<Error>) {
        let mut state = self.lock();
        if state.phase >= Phase::Stopped {
            return;
        }
        state.phase = Phase::Aborted;
        state.reason = reason;
        state.error = error;
        let tasks = std::mem::take(&mut state.tasks);
        state.in_slots = 0;
        let ready = std::mem::take(&mut state.ready);
        state.aborted = tasks.values().filter(|running| running.is_open()).count() - ready.len();
        let finished = std::mem::take(&mut state.finished);
        drop(state);
        finished.iter().for_each(|finished| finished.running.set_ended());
        settler::leave(ready.into());
        for running in tasks.values() {
            running.cancel(Reason::Shutdown);
            running.kill();
        }
        self.wake_all();
    }
}
