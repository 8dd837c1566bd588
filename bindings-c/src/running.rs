//! A worker while it runs, and the tasks that it has next.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use leaseq::blocking;
use leaseq_jobs::{ChildWorker, ExitReason, JobStart, Task, WorkerCore};
use tokio::sync::Notify;

use crate::event::Event;
use crate::failure::{Failure, Result};

/// How long the end of a worker waits for the registry.
const LEAVING: Duration = Duration::from_secs(1);

/// Where handlers run.
pub(crate) enum Handlers {
    /// Tasks report their end to the core, also when the worker's handle is gone.
    Here(Arc<WorkerCore>),
    InChildren(ChildWorker),
}

pub(crate) struct Running {
    handlers: Handlers,
    pub(crate) slots: usize,
    /// For event loops, once one has asked for it.
    ahead: Mutex<Option<Arc<Ahead>>>,
}

/// What comes next, taken before it is asked for, so that a file descriptor can tell that it is there.
struct Ahead {
    /// Set while there is something.
    event: Event,
    next: Mutex<Option<JobStart>>,
    arrived: Notify,
    taken: Notify,
}

impl Ahead {
    fn lock(&self) -> MutexGuard<'_, Option<JobStart>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes tasks one by one, until the worker has ended.
    async fn fill(self: Arc<Self>, core: Arc<WorkerCore>) {
        loop {
            let next = core.next().await;
            let is_end = matches!(next, JobStart::Drained);
            *self.lock() = Some(next);
            self.event.set();
            self.arrived.notify_one();
            if is_end {
                return;
            }
            self.taken.notified().await;
        }
    }

    async fn take(&self) -> JobStart {
        loop {
            let taken = {
                let mut next = self.lock();
                match &*next {
                    // It stays for all who ask.
                    Some(JobStart::Drained) => Some(JobStart::Drained),
                    _ => next.take(),
                }
            };
            match taken {
                Some(JobStart::Start(task)) => {
                    self.event.clear();
                    self.taken.notify_one();
                    return JobStart::Start(task);
                }
                Some(end) => {
                    self.arrived.notify_one();
                    return end;
                }
                None => self.arrived.notified().await,
            }
        }
    }
}

impl Running {
    pub(crate) fn new(handlers: Handlers, slots: usize) -> Self {
        Running { handlers, slots, ahead: Mutex::default() }
    }

    pub(crate) fn core(&self) -> &WorkerCore {
        match &self.handlers {
            Handlers::Here(core) => core,
            Handlers::InChildren(worker) => worker.core(),
        }
    }

    /// The core that gives tasks to this process.
    pub(crate) fn here(&self) -> Result<&Arc<WorkerCore>> {
        match &self.handlers {
            Handlers::Here(core) => Ok(core),
            Handlers::InChildren(_) => {
                Err(Failure::invalid("the jobs of this worker run in child processes"))
            }
        }
    }

    fn ahead(&self) -> MutexGuard<'_, Option<Arc<Ahead>>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task; `None`: the worker has ended, or this time is over.
    pub(crate) async fn next(&self, core: &WorkerCore, wait: Option<Duration>) -> Option<Task> {
        let ahead = self.ahead().clone();
        let next = async {
            match ahead {
                Some(ahead) => ahead.take().await,
                None => core.next().await,
            }
        };
        let next = match wait {
            None => next.await,
            Some(wait) => tokio::time::timeout(wait, next).await.ok()?,
        };
        match next {
            JobStart::Start(task) => Some(task),
            JobStart::Drained => None,
        }
    }

    /// The next task, if it is there.
    pub(crate) fn next_now(&self, core: &WorkerCore) -> Option<Task> {
        if self.ahead().is_some() {
            return None;
        }
        match core.try_next()? {
            JobStart::Start(task) => Some(task),
            JobStart::Drained => None,
        }
    }

    /// All tasks that are there, or else the next one; none: the worker has ended.
    pub(crate) async fn next_all(&self) -> Vec<Task> {
        let Ok(core) = self.here() else { return Vec::new() };
        let mut tasks = Vec::from_iter(self.next(core, None).await);
        // With a descriptor, they are taken one by one.
        while !tasks.is_empty()
            && tasks.len() < self.slots
            && let Some(task) = self.next_now(core)
        {
            tasks.push(task);
        }
        tasks
    }

    pub(crate) fn fd(&self) -> Result<i32> {
        let core = self.here()?;
        let mut place = self.ahead();
        if let Some(ahead) = &*place {
            return Ok(ahead.event.fd());
        }
        let ahead = Arc::new(Ahead {
            event: Event::new("a worker")?,
            next: Mutex::default(),
            arrived: Notify::new(),
            taken: Notify::new(),
        });
        blocking::start(ahead.clone().fill(core.clone()))?;
        Ok(place.insert(ahead).event.fd())
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.end().now_or_never().is_some()
    }

    /// Waits until the worker and its children have ended.
    async fn end(&self) {
        match &self.handlers {
            Handlers::Here(core) => core.ended().await,
            Handlers::InChildren(worker) => worker.ended().await,
        }
    }

    /// Waits for the end, and, for a moment, until a worker that has ended is not listed any more.
    pub(crate) async fn ended(&self, wait: Option<Duration>) -> leaseq::Result<bool> {
        match wait {
            None => self.end().await,
            Some(wait) if tokio::time::timeout(wait, self.end()).await.is_err() => {
                return Ok(false);
            }
            Some(_) => {}
        }
        let exit = self.core().exit();
        if !matches!(exit.reason, ExitReason::Aborted | ExitReason::Failed) {
            _ = tokio::time::timeout(LEAVING, self.core().left()).await;
        }
        exit.error.map_or(Ok(true), Err)
    }
}
