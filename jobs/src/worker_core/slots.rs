//! A task leaves its slot: when the queue has confirmed its end, or before, if others could use it meanwhile.

use std::time::Instant;

use tokio::sync::oneshot;

use super::log;
use super::options::WorkerOptions;
use super::reason::Reason;
use super::running::Running;
use super::settlement::Settled;
use super::state::{Phase, Shared, State};

impl State {
    /// Its handler has succeeded. As the queue is about to confirm that, another job may start in its place.
    pub(super) fn mark_success(&mut self, running: &Running) {
        if !running.is_detached() && !running.has_succeeded() {
            running.set_succeeded(true);
            self.succeeded += 1;
        }
    }

    /// It was settled, or that takes longer.
    pub(super) fn clear_success(&mut self, running: &Running) {
        if running.has_succeeded() {
            running.set_succeeded(false);
            self.succeeded -= 1;
        }
    }

    fn leave_slot(&mut self, running: &Running, options: &WorkerOptions) {
        self.clear_success(running);
        if running.has_started() {
            self.in_slots -= 1;
            if !options.cooldown.is_zero() {
                self.cooling.push_back(Instant::now() + options.cooldown);
            }
        }
    }

    /// The lease of the task is lost. If its handler has ended, too, only the report is left: it goes on, but the queue may not
    /// answer for a long time, and the slot is for others. Nothing piles up by that, since such a queue gives no new jobs.
    /// True if the slot is free now.
    pub(super) fn detach_lost(&mut self, running: &Running, options: &WorkerOptions) -> bool {
        let only_reports = !running.is_open() && running.reason() == Some(Reason::Lost);
        let leases = self.phase == Phase::Leasing && self.tasks.contains_key(&running.id);
        if !only_reports || !leases || running.is_detached() {
            return false;
        }
        self.leave_slot(running, options);
        running.set_detached();
        self.detached += 1;
        true
    }
}

impl Shared {
    /// Asks the handler of the task to stop.
    pub(super) fn cancel(&self, running: &Running, reason: Reason) {
        running.cancel(reason);
        if let (Some(stops), Some(reason)) = (self.stops.get(), running.reason()) {
            // It fails only when nobody listens any more.
            _ = stops.send((running.id, reason));
        }
    }

    /// The lease of the task is lost.
    pub(super) fn lost(&self, running: &Running) {
        self.cancel(running, Reason::Lost);
        let mut state = self.lock();
        if state.detach_lost(running, &self.options) {
            self.slot_is_free(&mut state);
            drop(state);
            log::detached(running);
        }
    }

    fn slot_is_free(&self, state: &mut State) {
        self.fetch.notify_one();
        self.wake_caller(state);
    }

    /// A task was settled: its slot is free.
    pub(super) fn end(
        &self,
        running: &Running,
        reply: Option<oneshot::Sender<Settled>>,
        settled: Settled,
    ) {
        running.set_ended();
        log::settled(running, &settled);
        let mut state = self.lock();
        state.ended += 1;
        if let Some(at) = running.stop_timer() {
            state.timers.remove(&(at, running.id));
        }
        if state.tasks.remove(&running.id).is_some() {
            state.hung -= usize::from(running.was_hung());
            if running.has_started() {
                state.measurements.note_end(running, self.options.lease);
            }
            if running.is_detached() {
                state.detached -= 1;
            } else {
                state.leave_slot(running, &self.options);
            }
        }
        state.end_if_idle(&self.options);
        let over = state.phase >= Phase::Stopped;
        self.slot_is_free(&mut state);
        drop(state);
        if let Some(reply) = reply {
            // The face may have dropped the future.
            _ = reply.send(settled);
        }
        self.changed.notify_waiters();
        if over {
            self.wake_all();
        }
    }
}
