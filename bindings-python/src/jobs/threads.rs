//! The threads that run handlers, and how they share the tasks.
//!
//! A thread whose handler has ended takes the next task by itself, if there is one: short handlers follow each other on one
//! thread, and the GIL need not change hands. One other thread, the scout, waits for tasks without the GIL. When it gets
//! the GIL, because handlers take long or wait, it takes one, and the next thread is the scout. Only threads that have
//! the GIL take tasks: none waits for it with a task in its hands that another one could run.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leaseq_jobs::{JobStart, Task, WorkerCore};
use tokio::runtime::Handle;

/// How long a scout stands back if the others do without it.
const STAND_BACK: Duration = Duration::from_millis(1);

#[derive(Default)]
pub(super) struct Threads {
    state: Mutex<State>,
    turns: Condvar,
}

#[derive(Default)]
struct State {
    /// What scouts have found.
    found: VecDeque<Task>,
    has_scout: bool,
    /// How many threads wait until they are the scout.
    idle: usize,
    /// How many tasks were taken.
    taken: u64,
}

/// A scout, which saw that so many tasks were taken.
#[derive(Clone, Copy)]
pub(super) struct Scout(u64);

impl Threads {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task, for a thread with the GIL. `None`: it is to wait.
    pub(super) fn take(&self, core: &WorkerCore, scout: Option<Scout>) -> Option<JobStart> {
        let mut state = self.lock();
        // While it waited for the GIL, the others have taken tasks.
        if scout.is_some_and(|Scout(taken)| taken != state.taken) {
            return None;
        }
        let next = state.found.pop_front().map(JobStart::Start).or_else(|| core.try_next())?;
        state.taken += 1;
        if scout.is_some() {
            state.has_scout = false;
        }
        if !state.has_scout && state.idle > 0 {
            self.turns.notify_one();
        }
        Some(next)
    }

    /// Waits for a task, without the GIL: as the scout, once there is no other one.
    pub(super) fn wait(&self, core: &WorkerCore, runtime: &Handle, scout: Option<Scout>) -> Scout {
        match scout {
            Some(_) => std::thread::sleep(STAND_BACK),
            None => {
                let mut state = self.lock();
                state.idle += 1;
                while state.has_scout {
                    state = self.turns.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                state.idle -= 1;
                state.has_scout = true;
            }
        }
        if self.lock().found.is_empty()
            && let JobStart::Start(task) = runtime.block_on(core.next())
        {
            self.lock().found.push_back(task);
        }
        Scout(self.lock().taken)
    }
}
