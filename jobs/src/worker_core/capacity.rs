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
        self.throttled || self.quiet
    }

    /// How many jobs may be leased now, if so many tasks free their slots with the same request.
    pub(super) fn wanted(&self, options: &WorkerOptions, settling: usize) -> usize {
        if self.phase == Phase::Leasing { self.room(options, settling) } else { 0 }
    }

    /// How many more jobs it may have, if so many tasks are about to free their slots.
    pub(super) fn room(&self, options: &WorkerOptions, settling: usize) -> usize {
        // Without a child that could run them, none is leased in advance either.
        if self.is_held() || self.capacity == 0 {
            return 0;
        }
        // A slot that is to cool down is not freed.
        let settling = if options.cooldown.is_zero() { settling } else { 0 };
        let places = self.capacity + settling + options.prefetch;
        let free = places.saturating_sub(self.tasks.len() + self.cooling.len());
        let free = match (options.stagger.is_zero(), self.next_start) {
            (true, _) => free,
            // One may start; the others would be prefetched.
            (false, next) => {
                let startable = usize::from(next.is_none_or(|at| at <= Instant::now()));
                free.min((startable + options.prefetch).saturating_sub(self.ready.len()))
            }
        };
        let left = options.max_jobs.unwrap_or(u64::MAX).saturating_sub(self.started);
        free.min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// Whether the first of the tasks that wait may start now.
    pub(super) fn can_start(&self, options: &WorkerOptions) -> bool {
        let over =
            if options.cooldown.is_zero() { self.completing + self.finished.len() } else { 0 };
        let used = self.tasks.len() - self.ready.len() + self.cooling.len();
        !self.ready.is_empty()
            && used < self.capacity + over
            && self.next_start.is_none_or(|at| at <= Instant::now())
    }

    /// Takes those that wait to be started: all, or those for which there is no place.
    pub(super) fn take_waiting(
        &mut self,
        which: Waiting,
        options: &WorkerOptions,
    ) -> Vec<Arc<Running>> {
        let places = self.capacity + self.completing + options.prefetch;
        let most = match which {
            Waiting::All => self.ready.len(),
            Waiting::WithoutPlace => (self.tasks.len() + self.cooling.len()).saturating_sub(places),
        };
        let first = self.ready.len().saturating_sub(most);
        self.started -= (self.ready.len() - first) as u64;
        self.ready.drain(first..).collect()
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
        self.lock().capacity += 1;
        self.fetch.notify_one();
        // A prefetched job may wait for it.
        self.starts.notify_one();
    }

    /// One slot less can be used. A job that waits for it goes back to its queue.
    pub(super) fn close_slot(self: &Arc<Self>) {
        let mut state = self.lock();
        state.capacity = state.capacity.saturating_sub(1);
        self.give_back_waiting(&mut state, Waiting::WithoutPlace);
        drop(state);
        self.fetch.notify_one();
    }

    /// No slot will be open for a while, unless one is: jobs do not wait for that.
    pub(super) fn give_back_if_closed(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.capacity == 0 {
            self.give_back_waiting(&mut state, Waiting::All);
        }
    }
}
