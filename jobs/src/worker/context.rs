//! What a handler knows about its job, and what it can do.

use std::any::{Any, TypeId, type_name};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use leaseq::Result;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;

use crate::{JobError, Reason, Task};

/// Values by their types.
pub(super) type States = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// The job that a handler runs. Clones are cheap.
#[derive(Clone)]
pub struct Context {
    task: Arc<Task>,
    states: Arc<States>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("task", &self.task).finish_non_exhaustive()
    }
}

impl Context {
    pub(super) fn new(task: Task, states: Arc<States>) -> Context {
        Context { task: Arc::new(task), states }
    }

    /// What the core knows of the job.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The name of the job.
    pub fn name(&self) -> &str {
        self.task.name()
    }

    /// The name of its queue.
    pub fn queue(&self) -> &str {
        self.task.queue()
    }

    /// The id of its item.
    pub fn id(&self) -> &[u8] {
        self.task.id()
    }

    /// 1 for the first attempt.
    pub fn attempt(&self) -> u32 {
        self.task.attempt()
    }

    /// How many attempts the job has.
    pub fn max_attempts(&self) -> u32 {
        self.task.max_attempts()
    }

    /// The text of the last failure; empty if there was none.
    pub fn last_error(&self) -> &str {
        self.task.last_error()
    }

    /// What the producer has attached to the job.
    pub fn meta(&self) -> &BTreeMap<String, String> {
        self.task.meta()
    }

    /// For a store of your own that refuses writers of an earlier generation of an id: see [`Task::generation`].
    pub fn generation(&self) -> u64 {
        self.task.generation()
    }

    /// The id of the job whose end has [added](crate::NewJob::on_success) this one; `None`: it was added by a program.
    pub fn previous_id(&self) -> Option<&[u8]> {
        self.task.trigger().map(leaseq::Trigger::id)
    }

    /// The result of the job whose success has [added](crate::NewJob::then) this one. `None` if it had none, or one of
    /// more than 64 KiB, has not succeeded, or there is none.
    ///
    /// # Errors
    /// If the result does not fit the type: the job is dead then.
    pub fn previous<T: DeserializeOwned>(&self) -> Result<Option<T>, JobError> {
        let result = self.task.trigger().and_then(leaseq::Trigger::result);
        let read = result.map(|json| serde_json::from_slice(json)).transpose();
        read.map_err(|error| JobError::bury(format!("the result of the previous job: {error}")))
    }

    /// A value that was shared with [`Worker::state`](crate::Worker::state).
    ///
    /// # Errors
    /// If there is no value of this type: a mistake in the program, which makes the job dead.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<&T, JobError> {
        let value = self.states.get(&TypeId::of::<T>());
        value.and_then(|value| value.downcast_ref()).ok_or_else(|| {
            JobError::bury(format!("the worker has no state of type {}", type_name::<T>()))
        })
    }

    /// Returns when the handler should stop, and why: somebody has cancelled the job, its time is over, the worker ends,
    /// or the lease is lost. A handler that succeeds nevertheless completes its job.
    pub async fn cancelled(&self) -> Reason {
        self.task.cancelled().await
    }

    /// Whether the handler should stop.
    pub fn is_cancelled(&self) -> bool {
        self.task.cancel_reason().is_some()
    }

    /// Why the handler should stop; `None`: it should not.
    pub fn cancel_reason(&self) -> Option<Reason> {
        self.task.cancel_reason()
    }

    /// When the time of the handler is over.
    pub fn deadline(&self) -> Instant {
        self.task.soft_deadline()
    }

    /// Gives the handler this much time from now on, at most 30 days.
    ///
    /// # Errors
    /// As for [`Task::more_time`].
    pub fn more_time(&self, time: Duration) -> Result<()> {
        self.task.more_time(time)
    }

    /// Stores how far the handler has come: up to 1,024 bytes, for whoever looks at the item.
    ///
    /// # Errors
    /// As for [`Task::progress`].
    pub async fn progress(&self, progress: impl Into<Bytes>) -> Result<()> {
        self.task.progress(progress).await
    }

    /// [`progress`](Context::progress) for handlers that block. Panics in others.
    ///
    /// # Errors
    /// As for [`Task::progress`].
    pub fn progress_blocking(&self, progress: impl Into<Bytes>) -> Result<()> {
        Handle::current().block_on(self.task.progress(progress))
    }
}
