//! What a worker shares with its tasks.

use leaseq_jobs::WorkerCore;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

pub(super) struct Shared {
    pub(super) core: WorkerCore,
    pub(super) runtime: Handle,
    /// How many jobs run at the same time.
    pub(super) slots: usize,
    /// The numbers of the tasks that are to stop, for the event loop that runs them.
    pub(super) stops: UnboundedSender<u64>,
    pub(super) stopping: Mutex<UnboundedReceiver<u64>>,
}
