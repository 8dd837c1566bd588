//! A job in a slot of a worker of this process.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt;
use leaseq::blocking::{self, run};
use leaseq_jobs::{Finish, Reason, Settled, Task, WorkerCore};
use tokio::sync::Notify;

use crate::event::Event;
use crate::failure::Result;
use crate::signals::without_sigpipe;
use crate::task::{Job, Previous, leaseq_settled, leaseq_task};

pub(crate) struct WorkerTask {
    worker: Arc<WorkerCore>,
    task: Arc<Task>,
    /// Set when the task is to stop.
    cancelled: Mutex<Option<Arc<Event>>>,
    /// The task has ended, or nobody waits for its cancellation.
    over: Arc<Notify>,
}

impl Drop for WorkerTask {
    fn drop(&mut self) {
        self.over.notify_one();
    }
}

impl WorkerTask {
    /// A task for the caller.
    pub(crate) fn task(worker: Arc<WorkerCore>, task: Task) -> leaseq_task {
        let task = Arc::new(task);
        let cancelled = Mutex::default();
        let job = WorkerTask { worker, task: task.clone(), cancelled, over: Arc::default() };
        let names = (task.name(), task.queue());
        let previous = task.trigger().map(|by| {
            let result = by.result();
            Previous::new(by.id(), result.map(|result| &result[..]))
        });
        leaseq_task::new(Arc::new(job), names, task.args(), task.last_error(), previous)
    }
}

impl Job for WorkerTask {
    fn id(&self) -> &[u8] {
        self.task.id()
    }

    fn meta(&self, name: &str) -> &str {
        self.task.meta().get(name).map_or("", String::as_str)
    }

    fn attempt(&self) -> u32 {
        self.task.attempt()
    }

    fn max_attempts(&self) -> u32 {
        self.task.max_attempts()
    }

    fn generation(&self) -> u64 {
        self.task.generation()
    }

    fn deadline(&self) -> Instant {
        self.task.soft_deadline()
    }

    fn cancel_reason(&self) -> Option<Reason> {
        self.task.cancel_reason()
    }

    fn cancelled_fd(&self) -> Result<i32> {
        let mut cancelled = self.cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(event) = &*cancelled {
            return Ok(event.fd());
        }
        let event = Arc::new(Event::new("a task")?);
        let (set, over, task) = (event.clone(), self.over.clone(), Arc::downgrade(&self.task));
        blocking::start(async move {
            let Some(task) = task.upgrade() else { return };
            tokio::select! {
                _ = task.cancelled() => set.set(),
                () = over.notified() => {}
            }
        })?;
        Ok(cancelled.insert(event).fd())
    }

    fn more_time(&self, time: Duration) -> Result {
        Ok(self.task.more_time(time)?)
    }

    fn progress(&self, progress: &[u8]) -> Result {
        let progress = Bytes::copy_from_slice(progress);
        Ok(run(async { self.task.progress(progress).await })?)
    }

    fn finish(&self, finish: Finish, waits: bool) -> Result<leaseq_settled> {
        self.over.notify_one();
        let end = self.worker.finish(&self.task, finish);
        let settled = match waits {
            true => Some(without_sigpipe(|| run(end))),
            false => end.now_or_never(),
        };
        Ok(match settled.transpose()? {
            None => leaseq_settled::LEASEQ_SETTLED_NONE,
            Some(Settled::Completed) => leaseq_settled::LEASEQ_SETTLED_COMPLETED,
            Some(Settled::Retried { .. }) => leaseq_settled::LEASEQ_SETTLED_RETRIED,
            Some(Settled::Dead { .. }) => leaseq_settled::LEASEQ_SETTLED_DEAD,
            Some(Settled::Released { .. }) => leaseq_settled::LEASEQ_SETTLED_RELEASED,
            Some(Settled::Cancelled) => leaseq_settled::LEASEQ_SETTLED_CANCELLED,
            Some(Settled::Uncertain) => leaseq_settled::LEASEQ_SETTLED_UNCERTAIN,
            Some(_) => leaseq_settled::LEASEQ_SETTLED_LOST,
        })
    }
}
