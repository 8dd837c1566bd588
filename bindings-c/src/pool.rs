//! Threads that run tasks.
//!
//! One of them waits for tasks and takes all that are there; the others wait for those. A thread that takes a task wakes
//! another one, which waits for the next tasks meanwhile: so short handlers run on few threads, without a change of threads
//! for each task, and long ones on as many as there are slots.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use leaseq::blocking::run;
use leaseq_jobs::Task;

use crate::failure::{Failure, Result};
use crate::running::Running;
use crate::signals::{self, without_sigpipe};
use crate::task::leaseq_task;
use crate::worker_task::WorkerTask;

pub(crate) struct Pool {
    worker: Arc<Running>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// There are never more than there are threads without one.
    tasks: VecDeque<Task>,
    /// A thread waits for the next tasks.
    is_asked: bool,
    /// How many threads wait for a task.
    waiting: usize,
    /// One of them was woken, and has not looked yet.
    is_waking: bool,
    has_ended: bool,
}

impl Pool {
    /// Starts a thread for each slot. They end with the worker.
    pub(crate) fn start(
        worker: &Arc<Running>,
        was_blocked: bool,
        handler: impl Fn(*mut leaseq_task) -> i32 + Clone + Send + 'static,
    ) -> (Vec<JoinHandle<()>>, Result) {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let pool = Arc::new(Pool { worker: worker.clone(), state, changed });
        let mut threads = Vec::new();
        for _ in 0..worker.slots {
            let (pool, handler) = (pool.clone(), handler.clone());
            // Handlers find SIGPIPE as the program has left it.
            let work = move || signals::as_in_program(was_blocked, || pool.work(&handler));
            match Builder::new().name("leaseq-job".into()).spawn(work) {
                Ok(thread) => threads.push(thread),
                Err(why) => {
                    worker.core().drain(Duration::ZERO);
                    let message = format!("no thread for a handler: {why}");
                    let kind = leaseq::ErrorKind::Unavailable;
                    return (threads, Err(Failure { kind, message, outcome_unknown: false }));
                }
            }
        }
        (threads, Ok(()))
    }

    fn work(&self, handler: &impl Fn(*mut leaseq_task) -> i32) {
        let Ok(core) = self.worker.here() else { return };
        while let Some(task) = self.take() {
            let mut task = WorkerTask::task(core.clone(), task);
            // The caller's function, with a task that lives as long as the call.
            let returned = handler(&raw mut task);
            task.end_with(returned);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task; `None`: the worker has ended.
    fn take(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if let Some(task) = state.tasks.pop_front() {
                // The one that wakes wakes the next one: until then, this thread may have done all there is.
                if state.waiting > 0 && !state.is_waking {
                    state.is_waking = true;
                    self.changed.notify_one();
                }
                return Some(task);
            }
            if state.has_ended {
                return None;
            }
            if state.is_asked {
                state.waiting += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.waiting -= 1;
                state.is_waking = false;
                continue;
            }
            state.is_asked = true;
            drop(state);
            let next = async { Ok(self.worker.next_all().await) };
            let tasks = without_sigpipe(|| run(next)).unwrap_or_default();
            state = self.lock();
            state.is_asked = false;
            if tasks.is_empty() {
                state.has_ended = true;
                self.changed.notify_all();
            }
            state.tasks.extend(tasks);
        }
    }
}
