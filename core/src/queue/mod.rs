//! The operations on one queue.

mod add;
mod clean;
mod lease;
mod look;
mod operate;
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
/// Besides the errors named, every operation may give `Unavailable` (no answer within the client's
/// timeout), `Closed` (after [`Client::close`]), `Incompatible` (a queue written by a version with
/// another storage format) and `Internal` (damage; see [`check`](WorkQueue::check)).
#[derive(Clone)]
pub struct WorkQueue {
    // Keeps the connections open for as long as a queue is in use.
    _client: Client,
    dispatch: Arc<Dispatch>,
}

impl fmt::Debug for WorkQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl WorkQueue {
    pub(crate) fn new(client: Client, dispatch: Arc<Dispatch>) -> Self {
        WorkQueue { _client: client, dispatch }
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
