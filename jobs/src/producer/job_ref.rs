//! A reference to a job that was added.

use std::time::Duration;

use bytes::Bytes;
use leaseq::{Error, Outcome, OutcomeOptions, Result, WorkQueue};
use serde::de::DeserializeOwned;

/// A reference to a job, by which its end can be awaited.
#[derive(Debug, Clone)]
pub struct JobRef {
    queue: WorkQueue,
    id: Bytes,
    added: bool,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// The job has not ended within the time.
    #[error("the job has not ended yet")]
    NotEnded,
    /// The job is dead; this is its last error.
    #[error("the job has failed: {0}")]
    Failed(String),
    /// The job was cancelled.
    #[error("the job was cancelled")]
    Cancelled,
    /// The job was removed or replaced.
    #[error("the job was removed")]
    Removed,
    /// The job has succeeded, and was not [retained](crate::NewJob::retain), so its result is not known.
    #[error("the job was completed, and its result was not kept: retain it")]
    NotRetained,
    /// The job has ended and was not retained, so nobody knows how, or it never existed.
    #[error("the job is gone; it is kept after its end only if it is retained")]
    Gone,
    /// The result is not of this type.
    #[error("the result cannot be read: {0}")]
    Unreadable(serde_json::Error),
    /// The queue could not be asked.
    #[error(transparent)]
    Queue(#[from] Error),
}

impl JobRef {
    pub(super) fn new(queue: WorkQueue, id: Vec<u8>, added: bool) -> JobRef {
        JobRef { queue, id: id.into(), added }
    }

    /// The id of the item.
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// Its queue.
    pub fn queue(&self) -> &WorkQueue {
        &self.queue
    }

    /// False: the id or the unique key was taken, and nothing was added. The reference is about the job that has this
    /// id, if there is one.
    pub fn added(&self) -> bool {
        self.added
    }

    /// Waits until the job has ended, at most for this time. `None`: it has not.
    ///
    /// # Errors
    /// As for [`WorkQueue::outcome`].
    pub async fn outcome(&self, wait: Duration) -> Result<Option<Outcome>> {
        self.queue.outcome(&self.id, OutcomeOptions::new().wait(wait)).await
    }

    /// Waits for the result, at most for this time. The job must be [retained](crate::NewJob::retain). A handler that
    /// returns `()` has the result `()`.
    ///
    /// # Errors
    /// Every end other than a completion, a result that was not kept, and one of another type.
    pub async fn result<T: DeserializeOwned>(&self, wait: Duration) -> Result<T, ResultError> {
        match self.outcome(wait).await? {
            None => Err(ResultError::NotEnded),
            Some(Outcome::Completed { result: None, retained: false }) => {
                Err(ResultError::NotRetained)
            }
            Some(Outcome::Completed { result, .. }) => {
                let json = result.as_deref().unwrap_or(b"null");
                serde_json::from_slice(json).map_err(ResultError::Unreadable)
            }
            Some(Outcome::Dead { error }) => Err(ResultError::Failed(error)),
            Some(Outcome::Cancelled) => Err(ResultError::Cancelled),
            Some(Outcome::Removed) => Err(ResultError::Removed),
            Some(_) => Err(ResultError::Gone),
        }
    }

    /// Cancels the job: one that waits is gone, and the handler of one that runs is cancelled within about 5 s. False:
    /// it has ended.
    ///
    /// # Errors
    /// As for [`WorkQueue::cancel`].
    pub async fn cancel(&self) -> Result<bool> {
        self.queue.cancel(&self.id).await
    }
}
