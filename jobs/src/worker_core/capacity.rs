//! How many jobs the worker may have: those that run in its slots, and those that wait for one.
//!
//! The slots of a worker with child processes can be used while their children live.

use std::sync::Arc;
use std::time::Instant;

use super::options::WorkerOptions;
use super::running::Running;
use super::state::{Phase, Shared, State};

/// Tasks that wait to be started.
#[derive(Debug, Clone, Copy)]
pub(super) enum Waiting {
    All,
    WithoutPlace,
}

impl State {
    /// Whether it leases nothing for now.
    pub(super) fn is_held(&self) -> bool {
        self.throttled || self.quiet || self.unattended
    }

    /// How many jobs may be leased now, if the handlers of so many tasks in slots have ended.
    pub(super) fn wanted(&self, options: &WorkerOptions, over: usize) -> usize {
        if self.phase == Phase::Leasing { self.room(options, over) } else { 0 }
    }

    /// How many more jobs it may have, if the handlers of so many tasks in slots have ended.
    pub(super) fn room(&self, options: &WorkerOptions, over: usize) -> usize {
        // Without a child that could run them, none is leased in advance either.
        if self.is_held() || self.capacity == 0 {
            return 0;
        }
        // They wait to be started, or the queue has not heard yet that they never will be.
        let outside = self.tasks.len() - self.in_slots - self.detached;
        let room = (self.startable(options, over) + options.prefetch).saturating_sub(outside);
        let begun = self.started + self.ready.len() as u64;
        let left = options.max_jobs.unwrap_or(u64::MAX).saturating_sub(begun);
        room.min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// How many jobs may start now, if the handlers of so many tasks in slots have ended.
    fn startable(&self, options: &WorkerOptions, over: usize) -> usize {
        // A slot that is to cool down is not free before its task is settled.
        let over = if options.cooldown.is_zero() { over } else { 0 };
        let free = (self.capacity + over).saturating_sub(self.in_slots + self.cooling.len());
        match (options.stagger.is_zero(), self.next_start) {
            (true, _) => free,
            (false, None) => free.min(1),
            (false, Some(at)) => free.min(usize::from(at <= Instant::now())),
        }
    }

    /// Whether a task that waits may start now.
    pub(super) fn can_start(&self, options: &WorkerOptions) -> bool {
        !self.ready.is_empty() && self.startable(options, self.succeeded) > 0
    }

    /// Takes those that wait to be started: all, or those for which there is no place.
    pub(super) fn take_waiting(
        &mut self,
        which: Waiting,
        options: &WorkerOptions,
    ) -> Vec<Arc<Running>> {
        let places = match which {
            Waiting::All => 0,
            Waiting::WithoutPlace => self.startable(options, self.succeeded) + options.prefetch,
        };
        self.ready.drain(places.min(self.ready.len())..).collect()
    }

    /// Lets slots be used again. Returns when the next one can be, or the next job can start.
    pub(super) fn end_cooldowns(&mut self) -> Option<Instant> {
        let now = Instant::now();
        while self.cooling.front().is_some_and(|until| *until <= now) {
            self.cooling.pop_front();
        }
        self.next_start = self.next_start.filter(|at| *at > now);
        [self.cooling.front().copied(), self.next_start].into_iter().flatten().min()
    }
}

impl Shared {
    /// One slot more can be used.
    pub(super) fn open_slot(&self) {
        let mut state = self.lock();
        state.capacity += 1;
        self.fetch.notify_one();
        // A prefetched job may wait for it.
        self.wake_caller(&mut state);
    }

    /// One slot less can be used. A job that waits for it goes back to its queue.
    pub(super) fn close_slot(self: &Arc<Self>) {
        let mut state = self.lock();
        state.capacity = state.capacity.saturating_sub(1);
        self.give_back_waiting(&mut state, Waiting::WithoutPlace);
        drop(state);
        self.fetch.notify_one();
    }

    /// No slot will be open for a while, unless one is now: jobs do not wait for that.
    pub(super) fn give_back_if_closed(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.capacity == 0 {
            self.give_back_waiting(&mut state, Waiting::All);
        }
    }
}
