//! What a handler asks about its job, and tells while it runs.

use std::ffi::{c_char, c_void};
use std::time::Instant;

use leaseq_jobs::Reason;

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::Failure;
use crate::guard::look;
use crate::pointer::{Out, bytes, duration, given, ms, text};
use crate::status::status;
use crate::task::{leaseq_cancel_reason, leaseq_task};

/// The most that can be said about the progress, in bytes.
const MAX_PROGRESS: usize = 1024;

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
    look(task, nothing, |task| task.look().map_or(nothing, |job| job.id().as_ptr().cast()))
}

/// Number of bytes of the item's id.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_id_len(task: Option<&leaseq_task>) -> usize {
    look(task, 0, |task| task.look().map_or(0, |job| job.id().len()))
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
            let task = given(task, "task")?;
            let found = task.get()?.meta(task.argument(text(name, "name"))?);
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
    look(task, 0, |task| task.look().map_or(0, |job| job.attempt()))
}

/// How many attempts the job has. 0 for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_max_attempts(task: Option<&leaseq_task>) -> u32 {
    look(task, 0, |task| task.look().map_or(0, |job| job.max_attempts()))
}

/// The text of the last failure, followed by a NUL; empty if there was none. NULL for NULL. Lives as long as
/// the task.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_last_error(task: Option<&leaseq_task>) -> *const c_char {
    look(task, std::ptr::null(), |task| task.last_error.as_ptr())
}

/// The id of the job or group whose end has added this job: arbitrary bytes, not followed by a NUL. NULL if a program has
/// added it, and for NULL. Lives as long as the task.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_previous_id(task: Option<&leaseq_task>) -> *const c_char {
    let nothing = std::ptr::null();
    look(task, nothing, |task| task.previous.as_ref().map_or(nothing, |by| by.id.as_ptr().cast()))
}

/// Number of bytes of that id.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_previous_id_len(task: Option<&leaseq_task>) -> usize {
    look(task, 0, |task| task.previous.as_ref().map_or(0, |by| by.id.len()))
}

/// The result of the job whose success has added this one, followed by a NUL: JSON, if its handler keeps to that. NULL if
/// it had none, or one of more than 64 KiB, has not succeeded, or there is none. Lives as long as the task.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_previous(task: Option<&leaseq_task>) -> *const c_char {
    let result = |task: &leaseq_task| Some(task.previous.as_ref()?.result.as_ref()?.as_ptr());
    look(task, std::ptr::null(), |task| result(task).unwrap_or(std::ptr::null()))
}

/// Number of bytes of that result, without the NUL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_previous_len(task: Option<&leaseq_task>) -> usize {
    let result = |task: &leaseq_task| Some(task.previous.as_ref()?.result.as_ref()?.len());
    look(task, 0, |task| result(task).unwrap_or(0))
}

/// The generation of the item, which goes up with every add of its id: a store of your own can refuse writers
/// of an earlier one. It is the same in all attempts. 0 for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_generation(task: Option<&leaseq_task>) -> u64 {
    look(task, 0, |task| task.look().map_or(0, |job| job.generation()))
}

/// Ms until the timeout; 0 after that, for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_remaining_ms(task: Option<&leaseq_task>) -> i64 {
    look(task, 0, |task| {
        let deadline = task.look().map(|job| job.deadline());
        deadline.map_or(0, |at| ms(at.saturating_duration_since(Instant::now())))
    })
}

/// Why the task is to stop. `LEASEQ_CANCEL_NONE` for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_task_cancel_reason(task: Option<&leaseq_task>) -> leaseq_cancel_reason {
    look(task, leaseq_cancel_reason::LEASEQ_CANCEL_NONE, |task| {
        match task.look().and_then(|job| job.cancel_reason()) {
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
            place.set(given(task, "task")?.get()?.cancelled_fd()?);
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
            let task = given(task, "task")?;
            task.get()?.more_time(task.argument(duration(time_ms, "a time"))?)
        })
    }
}

/// Stores how far the handler has come: up to 1,024 bytes, for whoever looks at the item. In a child process it must be
/// UTF-8, and the worker stores it: the call returns at once.
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
            let task = given(task, "task")?;
            let progress = bytes(progress, progress_len, MAX_PROGRESS, "progress");
            task.get()?.progress(task.argument(progress)?)
        })
    }
}
