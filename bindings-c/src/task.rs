//! A job that a handler runs.

use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use futures_util::FutureExt;
use leaseq::blocking::{self, ProcessBound, run};
use leaseq_jobs::{Finish, JobError, Policy, Reason, Settled, Task, WorkerCore};
use tokio::sync::Notify;

use crate::error::{leaseq_error, leaseq_status};
use crate::event::Event;
use crate::failure::{Failure, Result};
use crate::guard::{self, look};
use crate::info::Text;
use crate::pointer::{Out, bytes, duration, give, given, ms, text};
use crate::status::status;

/// The most that can be said about the progress, in bytes.
const MAX_PROGRESS: usize = 1024;

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
    /// Unknown: the call has failed.
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
}

/// For leaseq_task_fail(): the job is retried as its rules say.
pub const LEASEQ_POLICY_RETRY: i32 = 0;
/// For leaseq_task_fail(): it is retried after the given delay, if it has an attempt left.
pub const LEASEQ_POLICY_RETRY_AFTER: i32 = 1;
/// For leaseq_task_fail(): it has nothing more to do, and ends as completed, without a result.
pub const LEASEQ_POLICY_DISCARD: i32 = 2;
/// For leaseq_task_fail(): it is dead, whatever attempts it has left.
pub const LEASEQ_POLICY_BURY: i32 = 3;

/// A job in a slot of a worker, until one of the functions that end it is called. A task that is freed
/// before that fails.
pub struct leaseq_task {
    task: ProcessBound<Inner>,
    name: CString,
    queue: CString,
    args: Text,
    last_error: Text,
}

struct Inner {
    worker: Arc<WorkerCore>,
    task: Arc<Task>,
    /// Set when the task is to stop.
    cancelled: Mutex<Option<Arc<Event>>>,
    /// The task has ended, or nobody waits for its cancellation.
    over: Arc<Notify>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.over.notify_one();
    }
}

impl leaseq_task {
    pub(crate) fn new(worker: Arc<WorkerCore>, task: Task) -> Self {
        let (name, queue) = (CString::new(task.name()), CString::new(task.queue()));
        leaseq_task {
            name: name.unwrap_or_default(),
            queue: queue.unwrap_or_default(),
            // JSON is UTF-8.
            args: Text::new(&String::from_utf8_lossy(task.args())),
            last_error: Text::new(task.last_error()),
            task: ProcessBound::new(Inner {
                worker,
                task: Arc::new(task),
                cancelled: Mutex::default(),
                over: Arc::default(),
            }),
        }
    }

    pub(crate) fn give(worker: Arc<WorkerCore>, task: Task) -> *mut Self {
        give(leaseq_task::new(worker, task))
    }

    fn get(&self) -> Result<&Inner> {
        Ok(self.task.get("the task")?)
    }

    fn look(&self) -> Option<&Task> {
        self.get().ok().map(|inner| &*inner.task)
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
        if let Ok(inner) = self.get() {
            _ = inner.worker.finish(&inner.task, finish).now_or_never();
        }
    }

    /// Ends the task. Waits for what becomes of the job only if the caller wants to know.
    ///
    /// # Safety
    /// The conventions of the header.
    unsafe fn finish(&self, finish: Finish, settled: *mut leaseq_settled) -> Result {
        let inner = self.get()?;
        inner.over.notify_one();
        let end = inner.worker.finish(&inner.task, finish);
        if settled.is_null() {
            return match end.now_or_never() {
                Some(Err(error)) => Err(error.into()),
                _ => Ok(()),
            };
        }
        // SAFETY: the conventions of the header.
        let place = unsafe { Out::wanted(settled, leaseq_settled::LEASEQ_SETTLED_NONE) };
        place.set(match run(end)? {
            Settled::Completed => leaseq_settled::LEASEQ_SETTLED_COMPLETED,
            Settled::Retried { .. } => leaseq_settled::LEASEQ_SETTLED_RETRIED,
            Settled::Dead { .. } => leaseq_settled::LEASEQ_SETTLED_DEAD,
            Settled::Released { .. } => leaseq_settled::LEASEQ_SETTLED_RELEASED,
            Settled::Cancelled => leaseq_settled::LEASEQ_SETTLED_CANCELLED,
            _ => leaseq_settled::LEASEQ_SETTLED_LOST,
        });
        Ok(())
    }

    fn cancelled_fd(&self) -> Result<i32> {
        let inner = self.get()?;
        let mut cancelled = inner.cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(event) = &*cancelled {
            return Ok(event.fd());
        }
        let event = Arc::new(Event::new("a task")?);
        let (set, over, task) = (event.clone(), inner.over.clone(), Arc::downgrade(&inner.task));
        blocking::start(async move {
            let Some(task) = task.upgrade() else { return };
            tokio::select! {
                _ = task.cancelled() => set.set(),
                () = over.notified() => {}
            }
        })?;
        Ok(cancelled.insert(event).fd())
    }
}

/// The name of the job. NULL for NULL. Lives as long as the task.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_name(task: Option<&leaseq_task>) -> *const c_char {
    look(task, std::ptr::null(), |task| task.name.as_ptr())
}

/// The name of its queue. NULL for NULL. Lives as long as the task.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_queue(task: Option<&leaseq_task>) -> *const c_char {
    look(task, std::ptr::null(), |task| task.queue.as_ptr())
}

/// The arguments: a JSON object, UTF-8, followed by a NUL. NULL for NULL. Lives as long as the task.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_args(task: Option<&leaseq_task>) -> *const c_char {
    look(task, std::ptr::null(), |task| task.args.as_ptr())
}

/// Number of bytes of the arguments, without the NUL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_args_len(task: Option<&leaseq_task>) -> usize {
    look(task, 0, |task| task.args.len())
}

/// The item's id: arbitrary bytes, not followed by a NUL. NULL for NULL and in a forked child. Lives as
/// long as the task.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_id(task: Option<&leaseq_task>) -> *const c_char {
    let nothing = std::ptr::null();
    look(task, nothing, |task| task.look().map_or(nothing, |task| task.id().as_ptr().cast()))
}

/// Number of bytes of the item's id.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_id_len(task: Option<&leaseq_task>) -> usize {
    look(task, 0, |task| task.look().map_or(0, |task| task.id().len()))
}

/// What a producer has attached under this name, such as a `traceparent`, copied to `value`, which has room
/// for `size` bytes, followed by a NUL. `*len` is its length without the NUL, and may be NULL; the value is
/// empty if there is none. Of one that is too long for `value`, nothing is copied.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for NULL or a size of 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_task_meta(
    task: Option<&leaseq_task>,
    name: *const c_char,
    value: *mut c_char,
    size: usize,
    len: *mut usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let len = Out::wanted(len, 0);
            Out::one(value, 0, "value").and_then(|_| match size {
                0 => Err(Failure::invalid("a size of 0 bytes has no room for the NUL")),
                _ => Ok(()),
            })?;
            let task = given(task, "task")?.get()?;
            let found = task.task.meta().get(text(name, "name")?).map_or("", String::as_str);
            len.set(found.len());
            if found.len() < size {
                let found = found.bytes().chain([0]).map(|byte| byte as c_char);
                Out::many(value, size, 0, "value")?.set_all(found);
            }
            Ok(())
        })
    }
}

/// 1 for the first attempt. 0 for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_attempt(task: Option<&leaseq_task>) -> u32 {
    look(task, 0, |task| task.look().map_or(0, Task::attempt))
}

/// How many attempts the job has. 0 for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_max_attempts(task: Option<&leaseq_task>) -> u32 {
    look(task, 0, |task| task.look().map_or(0, Task::max_attempts))
}

/// The text of the last failure, followed by a NUL; empty if there was none. NULL for NULL. Lives as long as
/// the task.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_last_error(task: Option<&leaseq_task>) -> *const c_char {
    look(task, std::ptr::null(), |task| task.last_error.as_ptr())
}

/// The generation of the item, which goes up with every add of its id: a store of your own can refuse writers
/// of an earlier one. It is the same in all attempts. 0 for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_generation(task: Option<&leaseq_task>) -> u64 {
    look(task, 0, |task| task.look().map_or(0, Task::generation))
}

/// Ms until the timeout; 0 after that, for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_remaining_ms(task: Option<&leaseq_task>) -> i64 {
    look(task, 0, |task| {
        let deadline = task.look().map(Task::soft_deadline);
        deadline.map_or(0, |at| ms(at.saturating_duration_since(Instant::now())))
    })
}

/// Why the task is to stop. `LEASEQ_CANCEL_NONE` for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_cancel_reason(task: Option<&leaseq_task>) -> leaseq_cancel_reason {
    look(task, leaseq_cancel_reason::LEASEQ_CANCEL_NONE, |task| {
        match task.look().and_then(Task::cancel_reason) {
            None => leaseq_cancel_reason::LEASEQ_CANCEL_NONE,
            Some(Reason::User) => leaseq_cancel_reason::LEASEQ_CANCEL_USER,
            Some(Reason::Timeout) => leaseq_cancel_reason::LEASEQ_CANCEL_TIMEOUT,
            Some(Reason::Shutdown) => leaseq_cancel_reason::LEASEQ_CANCEL_SHUTDOWN,
            Some(_) => leaseq_cancel_reason::LEASEQ_CANCEL_LOST,
        }
    })
}

/// A file descriptor for `poll`, `epoll` or `select` that becomes readable when the task is to stop. It
/// belongs to the task: do not read, write or close it.
/// @return `LEASEQ_OK`; `LEASEQ_UNAVAILABLE` if the process has no file descriptor left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_task_cancelled_fd(
    task: Option<&leaseq_task>,
    fd: *mut i32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(fd, -1, "fd")?;
            place.set(given(task, "task")?.cancelled_fd()?);
            Ok(())
        })
    }
}

/// Sets the timeout anew: the handler has this much time from now on, at most 30 days.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a longer or negative time, and if the task is to stop already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_task_more_time(
    task: Option<&leaseq_task>,
    time_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let task = given(task, "task")?.get()?;
            Ok(task.task.more_time(duration(time_ms, "a time")?)?)
        })
    }
}

/// Stores how far the handler has come: up to 1,024 bytes, for whoever looks at the item.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for more bytes; `LEASEQ_LEASE_LOST`; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_task_progress(
    task: Option<&leaseq_task>,
    progress: *const c_void,
    progress_len: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let task = given(task, "task")?.get()?;
            let progress = bytes(progress, progress_len, MAX_PROGRESS, "progress")?;
            let progress = Bytes::copy_from_slice(progress);
            Ok(run(async { task.task.progress(progress).await })?)
        })
    }
}

/// Ends the task: it has succeeded. The result, copied, is kept with a job that is retained; NULL with length
/// 0 is none. Other languages expect JSON. If `settled` is NULL, the call returns at once; otherwise it waits
/// until the queue has confirmed what becomes of the job, which `*settled` tells.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` if the task was ended before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_task_complete(
    task: Option<&leaseq_task>,
    result: *const c_void,
    result_len: usize,
    settled: *mut leaseq_settled,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let task = given(task, "task")?;
            let most = leaseq::options::MAX_MAX_DATA;
            let result = match result_len {
                0 if result.is_null() => None,
                len => Some(Bytes::copy_from_slice(bytes(result, len, most, "a result")?)),
            };
            task.finish(Finish::Done { result }, settled)
        })
    }
}

/// Ends the task: it has failed. `class_name` is what the retry rules of the job name; `message` is for people.
/// Both are UTF-8, and the first 1,024 bytes of them are kept. `delay_ms` is that of
/// `LEASEQ_POLICY_RETRY_AFTER`, and 0 otherwise.
/// @return as leaseq_task_complete(), and `LEASEQ_INVALID` for NULL, a number that is no policy, or a delay
/// without that policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_task_fail(
    task: Option<&leaseq_task>,
    class_name: *const c_char,
    message: *const c_char,
    policy: i32,
    delay_ms: i64,
    settled: *mut leaseq_settled,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let task = given(task, "task")?;
            let delay = duration(delay_ms, "a delay")?;
            let policy = match policy {
                LEASEQ_POLICY_RETRY_AFTER => Policy::RetryAfter(delay),
                _ if delay_ms != 0 => {
                    return Err(Failure::invalid("a delay without LEASEQ_POLICY_RETRY_AFTER"));
                }
                LEASEQ_POLICY_RETRY => Policy::Retry,
                LEASEQ_POLICY_DISCARD => Policy::Discard,
                LEASEQ_POLICY_BURY => Policy::Bury,
                _ => return Err(Failure::invalid(format_args!("{policy} is no policy"))),
            };
            let (class, message) = (text(class_name, "class_name")?, text(message, "message")?);
            task.finish(Finish::Failed(JobError::new(class, message).policy(policy)), settled)
        })
    }
}

/// Ends the task: it is to run again after this delay, and the attempt does not count.
/// @return as leaseq_task_complete(), and `LEASEQ_INVALID` for a negative delay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_task_snooze(
    task: Option<&leaseq_task>,
    delay_ms: i64,
    settled: *mut leaseq_settled,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let task = given(task, "task")?;
            task.finish(Finish::Snooze(duration(delay_ms, "a delay")?), settled)
        })
    }
}

/// Ends the task: it has stopped because it was to. leaseq_task_cancel_reason() decides what becomes of the
/// job.
/// @return as leaseq_task_complete().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_task_stopped(
    task: Option<&leaseq_task>,
    settled: *mut leaseq_settled,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { status(error, || given(task, "task")?.finish(Finish::Cancelled, settled)) }
}

/// Ends the task: its arguments do not fit the handler. The job is released without using an attempt, because
/// a newer worker may understand it, and is dead after a day.
/// @return as leaseq_task_complete(), and `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_task_refuse_args(
    task: Option<&leaseq_task>,
    message: *const c_char,
    settled: *mut leaseq_settled,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let task = given(task, "task")?;
            task.finish(Finish::InvalidArgs(text(message, "message")?.to_owned()), settled)
        })
    }
}

/// Frees a task and makes the pointer NULL. NULL and a pointer to NULL are allowed. A task that was not ended
/// fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_task_free(task: *mut *mut leaseq_task) {
    // SAFETY: made by leaseq_worker_next.
    unsafe { guard::free(task) }
}
