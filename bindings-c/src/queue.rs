//! Queues.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use leaseq::blocking::{Queue, run};
use leaseq::{GroupOutcome, Lease, LeaseOptions, Outcome, OutcomeOptions, WorkQueue};

use crate::failure::Result;
use crate::guard::{self, look};
use crate::waits::Waits;

/// One queue. May be used by any number of threads at the same time.
#[derive(Clone)]
pub struct leaseq_queue(Arc<Inner>);

struct Inner {
    queue: Queue,
    name: CString,
    waits: Arc<Waits>,
}

pub(crate) fn new(queue: Queue, waits: Arc<Waits>) -> leaseq_queue {
    let name = CString::new(queue.name()).unwrap_or_default();
    leaseq_queue(Arc::new(Inner { queue, name, waits }))
}

impl leaseq_queue {
    /// Runs an operation to completion on the calling thread.
    pub(crate) fn run<T>(
        &self,
        operation: impl AsyncFnOnce(&WorkQueue) -> leaseq::Result<T>,
    ) -> Result<T> {
        Ok(run(async { operation(self.0.queue.in_this_process().await?).await })?)
    }

    /// Leases; waiting ends when the client's waits are cancelled.
    pub(crate) async fn lease(
        &self,
        count: usize,
        options: LeaseOptions,
    ) -> leaseq::Result<Vec<Lease>> {
        self.0.waits.lease(self.0.queue.in_this_process().await?, count, options).await
    }

    /// Waits for the ends of items, until the client's waits are cancelled.
    pub(crate) async fn outcome_many(
        &self,
        ids: Vec<Vec<u8>>,
        options: OutcomeOptions,
    ) -> leaseq::Result<Vec<leaseq::Result<Option<Outcome>>>> {
        let queue = self.0.queue.in_this_process().await?;
        self.0.waits.outcome_many(queue, &ids, options).await
    }

    /// Waits for the end of a group, until the client's waits are cancelled.
    pub(crate) async fn group_outcome(
        &self,
        id: Vec<u8>,
        options: OutcomeOptions,
    ) -> leaseq::Result<Option<GroupOutcome>> {
        let queue = self.0.queue.in_this_process().await?;
        self.0.waits.group_outcome(queue, &id, options).await
    }

    /// Releases leases that reached no caller, in the background; closing the client waits for
    /// that.
    pub(crate) fn give_back(&self, leases: &[Lease]) {
        self.0.queue.give_back(leases);
    }
}

/// The queue's name; NULL for NULL. Lives as long as the queue's handle.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_queue_name(queue: Option<&leaseq_queue>) -> *const c_char {
    look(queue, std::ptr::null(), |queue| queue.0.name.as_ptr())
}

/// Frees the handle, not the queue, and makes the pointer NULL. NULL and a pointer to NULL are
/// allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_free(queue: *mut *mut leaseq_queue) {
    // SAFETY: made by leaseq_client_queue.
    unsafe { guard::free(queue) }
}
