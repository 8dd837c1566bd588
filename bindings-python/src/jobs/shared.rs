//! What a worker shares with its tasks.

use leaseq_jobs::{ChildWorker, WorkerCore};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::events::Events;
use super::threads::Threads;

/// Where handlers run: in this process, which asks for tasks, or in children.
pub(super) enum Running {
    Here(WorkerCore),
    InChildren(ChildWorker),
}

impl Running {
    pub(super) fn core(&self) -> &WorkerCore {
        match self {
            Running::Here(core) => core,
            Running::InChildren(worker) => worker.core(),
        }
    }

    /// Waits until the worker has ended, with its children.
    pub(super) async fn ended(&self) {
        match self {
            Running::Here(core) => core.ended().await,
            Running::InChildren(worker) => worker.ended().await,
        }
    }
}

pub(super) struct Shared {
    pub(super) running: Running,
    pub(super) runtime: Handle,
    /// How many jobs run at the same time.
    pub(super) slots: usize,
    /// The numbers of the tasks that are to stop, for the event loop that runs them.
    pub(super) stops: UnboundedSender<u64>,
    pub(super) stopping: Mutex<UnboundedReceiver<u64>>,
    /// If the program wants to know what happens to jobs.
    pub(super) events: Option<Events>,
    pub(super) threads: Threads,
}
