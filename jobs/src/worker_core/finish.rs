//! How a task ends.

use std::time::Duration;

use bytes::Bytes;

use crate::JobError;

/// How a task has ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Finish {
    /// It has succeeded.
    Done {
        /// Kept with the job if that is retained. Its limit is that of an item's data.
        result: Option<Bytes>,
    },
    /// It has failed; its class, the rules of the job and its [`Policy`](crate::Policy) decide what comes next.
    Failed(JobError),
    /// It is to run again after this delay, and the attempt does not count.
    Snooze(Duration),
    /// It has stopped because it was [cancelled](crate::Task::cancelled) or [killed](crate::Task::killed).
    Cancelled,
    /// The arguments do not fit the handler. The job is released, because a newer worker may understand it.
    InvalidArgs(String),
}
