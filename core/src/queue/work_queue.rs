//! A queue, and how a client opens it.

use std::fmt;
use std::sync::Arc;

use crate::dispatch::Dispatch;
use crate::{Client, Error, Result};

/// One queue. Clones are cheap, and any number of tasks may use them at the same time: calls made at the
/// same time share a request.
///
/// Calls that change the queue and that one client makes without waiting for the replies are executed in
/// the order in which they were first polled, whatever their kind, with two exceptions. After a failure
/// (a lost connection, a moved node of a Cluster) a request is sent again, and may arrive after later ones.
/// And a completion may change places with a call that leases, unless that completes the same item. This
/// makes a difference only for a lease that has expired.
///
/// Other calls have no place in this order; wait for the previous reply first. They only look
/// ([`counts`](WorkQueue::counts), [`queue_len`](WorkQueue::queue_len),
/// [`processing`](WorkQueue::processing), [`get`](WorkQueue::get), [`get_many`](WorkQueue::get_many),
/// [`list`](WorkQueue::list), [`check`](WorkQueue::check)) or work on the queue as a whole
/// ([`pause`](WorkQueue::pause), [`resume`](WorkQueue::resume), [`purge`](WorkQueue::purge),
/// [`drop_queue`](WorkQueue::drop_queue), [`light_clean`](WorkQueue::light_clean),
/// [`deep_clean`](WorkQueue::deep_clean)). A call of more than
/// 1,000 items, or of items of more than 16 MiB, has one place for each chunk. The next chunk begins when
/// the previous one is answered, so later calls may come between them.
///
/// Every call ends within the client's [time-out](crate::ConnectOptions::timeout), unless it waits for an
/// item. Each chunk of 1,000 items has that time to itself, and so has each step of an operation that works
/// in steps.
///
/// Besides the errors named, every operation may return `Unavailable` (no reply within the client's
/// time-out), `Closed` (after [`Client::close`]), `Incompatible` (a queue written by a version with
/// another storage format) and `Internal` (damage; see [`check`](WorkQueue::check)).
#[derive(Clone)]
pub struct WorkQueue {
    // Keeps the connections open while a queue is in use.
    pub(super) client: Client,
    pub(super) dispatch: Arc<Dispatch>,
}

impl Client {
    /// The queue of this name, `[A-Za-z0-9._-]{1,128}`. It need not exist: its first item creates it.
    ///
    /// # Errors
    /// `Invalid` for a bad name, `Closed` after [`close`](Client::close).
    pub fn queue(&self, name: &str) -> Result<WorkQueue> {
        let dispatch = self.dispatch(name)?;
        Ok(WorkQueue { client: self.clone(), dispatch })
    }
}

impl fmt::Debug for WorkQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl WorkQueue {
    /// The queue's name.
    pub fn name(&self) -> &str {
        self.dispatch.queue.as_str()
    }
}

/// The result of a batch of one.
pub(super) fn only<T>(answers: Vec<T>) -> Result<T> {
    answers.into_iter().next().ok_or_else(|| Error::internal("the engine gave no answer"))
}
