//! The operations on one queue.

mod add;
mod admin;
mod clean;
mod lease;
mod query;
mod settle;

use std::fmt;
use std::sync::Arc;

pub use self::lease::CompletedAndLeased;
pub use self::settle::Hold;
use crate::dispatch::Dispatch;
use crate::{Client, Error, Result};

/// One queue. Clones are cheap, and may be used by any number of tasks at the same time: calls made
/// at the same time travel in one request.
///
/// Calls that change the queue and that one client makes without waiting for their answers are executed
/// in the order in which they were first polled, whatever their kind, with two exceptions. After a failure
/// (a lost connection, a node of a Cluster that has moved) a request is sent again, and may come after
/// later ones. And a completion may be executed before or after a call that leases, if that does not
/// complete the same item: it makes a difference only for a lease that has expired.
///
/// Other calls have no place in this order: wait for the answer of the one before. They are those that only
/// look ([`counts`](WorkQueue::counts), [`queue_len`](WorkQueue::queue_len),
/// [`processing`](WorkQueue::processing), [`get`](WorkQueue::get), [`list`](WorkQueue::list),
/// [`check`](WorkQueue::check)) or work on the queue as a whole ([`pause`](WorkQueue::pause),
/// [`resume`](WorkQueue::resume), [`purge`](WorkQueue::purge), [`drop_queue`](WorkQueue::drop_queue),
/// [`light_clean`](WorkQueue::light_clean), [`deep_clean`](WorkQueue::deep_clean)). And a call of more than
/// 1,000 items, or of items of more than 16 MiB, has a place for each chunk, the next of which begins when
/// the one before is answered: later calls may come between them.
///
/// Every call ends within the client's [time-out](crate::ConnectOptions::timeout), those that wait for an
/// item aside. In a call of more than 1,000 items each chunk of 1,000 has that time to itself, and so has
/// each step of what works in steps.
///
/// Besides the errors named, every operation may give `Unavailable` (no answer within the client's
/// timeout), `Closed` (after [`Client::close`]), `Incompatible` (a queue written by a version with
/// another storage format) and `Internal` (damage; see [`check`](WorkQueue::check)).
#[derive(Clone)]
pub struct WorkQueue {
    // Keeps the connections open for as long as a queue is in use.
    client: Client,
    dispatch: Arc<Dispatch>,
}

impl fmt::Debug for WorkQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl WorkQueue {
    pub(crate) fn new(client: Client, dispatch: Arc<Dispatch>) -> Self {
        WorkQueue { client, dispatch }
    }

    /// The queue's name.
    pub fn name(&self) -> &str {
        self.dispatch.queue.as_str()
    }
}

/// The answer to a batch of one.
fn only<T>(answers: Vec<T>) -> Result<T> {
    answers.into_iter().next().ok_or_else(|| Error::internal("the engine gave no answer"))
}
