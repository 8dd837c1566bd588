//! A job that a handler runs: in a worker of this process, or in this process as the child of a worker.

use std::ffi::CString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leaseq::blocking::ProcessBound;
use leaseq_jobs::{Finish, JobError, Reason};

use crate::failure::{Failure, Result};
use crate::guard;
use crate::info::Text;

/// Why a task is to stop.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum leaseq_cancel_reason {
    /// It is not.
    LEASEQ_CANCEL_NONE = 0,
    /// Somebody has cancelled the job.
    LEASEQ_CANCEL_USER = 1,
    /// Its time is over.
    LEASEQ_CANCEL_TIMEOUT = 2,
    /// The worker is ending, and the grace period is over.
    LEASEQ_CANCEL_SHUTDOWN = 3,
    /// The lease is lost: another worker may have the job.
    LEASEQ_CANCEL_LOST = 4,
}

/// What has become of a job.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum leaseq_settled {
    /// Unknown: the call has failed, or this process is a child.
    LEASEQ_SETTLED_NONE = 0,
    /// It is completed.
    LEASEQ_SETTLED_COMPLETED = 1,
    /// It has failed, and is tried again.
    LEASEQ_SETTLED_RETRIED = 2,
    /// It is dead.
    LEASEQ_SETTLED_DEAD = 3,
    /// It was given back without using an attempt.
    LEASEQ_SETTLED_RELEASED = 4,
    /// It is cancelled.
    LEASEQ_SETTLED_CANCELLED = 5,
    /// Another worker has it, or it has ended otherwise: what the handler has done was not reported.
    LEASEQ_SETTLED_LOST = 6,
    /// The queue has got the report of a failure or a release, but its answer was lost, and the lease has ended: by that
    /// report, as is likely, or because it had expired before.
    LEASEQ_SETTLED_UNCERTAIN = 7,
}

/// A job in a slot of a worker, until one of the functions that end it is called. A task that is freed
/// before that fails.
pub struct leaseq_task {
    job: ProcessBound<Arc<dyn Job>>,
    pub(crate) name: CString,
    pub(crate) queue: CString,
    pub(crate) args: Text,
    pub(crate) last_error: Text,
    pub(crate) previous: Option<Previous>,
}

/// The job whose end has added this one.
pub(crate) struct Previous {
    pub(crate) id: Vec<u8>,
    pub(crate) result: Option<Text>,
}

impl Previous {
    pub(crate) fn new(id: &[u8], result: Option<&[u8]>) -> Self {
        let result = result.map(|result| Text::new(&String::from_utf8_lossy(result)));
        Previous { id: id.to_vec(), result }
    }
}

/// What tasks are about.
pub(crate) trait Job: Send + Sync {
    fn id(&self) -> &[u8];
    /// Empty if there is none of this name.
    fn meta(&self, name: &str) -> &str;
    fn attempt(&self) -> u32;
    fn max_attempts(&self) -> u32;
    fn generation(&self) -> u64;
    fn deadline(&self) -> Instant;
    fn cancel_reason(&self) -> Option<Reason>;
    /// A descriptor that is readable when there is a reason.
    fn cancelled_fd(&self) -> Result<i32>;
    fn more_time(&self, time: Duration) -> Result;
    fn progress(&self, progress: &[u8]) -> Result;
    /// Ends it. What has become of the job is known only if the caller waits for that.
    fn finish(&self, finish: Finish, waits: bool) -> Result<leaseq_settled>;
}

/// A job in messages, as the core calls it.
pub(crate) fn called(queue: &str, job: &str, id: &[u8]) -> String {
    format!("queue {queue}, job {job}, item {:?}", String::from_utf8_lossy(id))
}

impl leaseq_task {
    /// JSON is UTF-8, and so are names.
    pub(crate) fn new(
        job: Arc<dyn Job>,
        (name, queue): (&str, &str),
        args: &[u8],
        last_error: &str,
        previous: Option<Previous>,
    ) -> Self {
        leaseq_task {
            name: CString::new(name).unwrap_or_default(),
            queue: CString::new(queue).unwrap_or_default(),
            args: Text::new(&String::from_utf8_lossy(args)),
            last_error: Text::new(last_error),
            previous,
            job: ProcessBound::new(job),
        }
    }

    pub(crate) fn get(&self) -> Result<&dyn Job> {
        Ok(&**self.job.get("the task")?)
    }

    /// A checked argument of a call, or an error that names the job.
    pub(crate) fn argument<T>(&self, checked: Result<T>) -> Result<T> {
        checked.map_err(|failure| {
            let id = self.look().map_or(&[][..], |job| job.id());
            let about = called(&self.queue.to_string_lossy(), &self.name.to_string_lossy(), id);
            Failure { message: format!("{about}: {}", failure.message), ..failure }
        })
    }

    pub(crate) fn look(&self) -> Option<&dyn Job> {
        self.get().ok()
    }

    /// Ends a task whose handler has returned, unless that has ended it.
    pub(crate) fn end_with(&self, returned: i32) {
        let finish = match returned {
            0 => Finish::Done { result: None },
            number => {
                Finish::Failed(JobError::new("Error", format!("the handler returned {number}")))
            }
        };
        // It was ended by the handler if this fails.
        if let Ok(job) = self.get() {
            _ = job.finish(finish, false);
        }
    }
}

/// Frees a task and makes the pointer NULL. NULL and a pointer to NULL are allowed. A task that was not ended
/// fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_task_free(task: *mut *mut leaseq_task) {
    // SAFETY: made by leaseq_worker_next.
    unsafe { guard::free_at_once(task) }
}
