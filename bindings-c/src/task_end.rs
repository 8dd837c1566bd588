//! How a handler ends its job.

use std::ffi::{c_char, c_void};

use bytes::Bytes;
use leaseq_jobs::{Finish, JobError, Policy};

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::pointer::{self, Out, array, bytes, duration, given, text};
use crate::status::status_at_once;
use crate::task::{leaseq_settled, leaseq_task};

/// For leaseq_task_fail(): the job is retried as its rules say.
pub const LEASEQ_POLICY_RETRY: i32 = 0;
/// For leaseq_task_fail(): it is retried after the given delay, if it has an attempt left.
pub const LEASEQ_POLICY_RETRY_AFTER: i32 = 1;
/// For leaseq_task_fail(): it has nothing more to do, and ends as completed, without a result.
pub const LEASEQ_POLICY_DISCARD: i32 = 2;
/// For leaseq_task_fail(): it is dead, whatever attempts it has left.
pub const LEASEQ_POLICY_BURY: i32 = 3;

/// Ends a task. Waits for what becomes of the job only if the caller wants to know.
///
/// # Safety
/// The conventions of the header.
unsafe fn finish(
    task: Option<&leaseq_task>,
    settled: *mut leaseq_settled,
    how: impl FnOnce() -> Result<Finish>,
) -> Result {
    // SAFETY: the conventions of the header.
    let place = unsafe { Out::wanted(settled, leaseq_settled::LEASEQ_SETTLED_NONE) };
    let task = given(task, "task")?;
    let job = task.get()?;
    place.set(job.finish(task.argument(how())?, !settled.is_null())?);
    Ok(())
}

fn policy_of(policy: i32, delay_ms: i64) -> Result<Policy> {
    let delay = duration(delay_ms, "a delay")?;
    Ok(match policy {
        LEASEQ_POLICY_RETRY_AFTER => Policy::RetryAfter(delay),
        _ if delay_ms != 0 => {
            return Err(Failure::invalid("a delay without LEASEQ_POLICY_RETRY_AFTER"));
        }
        LEASEQ_POLICY_RETRY => Policy::Retry,
        LEASEQ_POLICY_DISCARD => Policy::Discard,
        LEASEQ_POLICY_BURY => Policy::Bury,
        _ => return Err(Failure::invalid(format_args!("{policy} is no policy"))),
    })
}

/// Ends the task: it has succeeded. The result, copied, is kept with a job that is retained; NULL with length
/// 0 is none. Other languages expect JSON. If `settled` is NULL, the call returns at once; otherwise it waits
/// until the queue has confirmed what becomes of the job, which `*settled` tells. In a child process the worker reports
/// the end: the call returns at once, `*settled` is `LEASEQ_SETTLED_NONE`, and a result must be JSON.
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
        status_at_once(error, || {
            finish(task, settled, || {
                let most = leaseq::options::MAX_MAX_DATA;
                let result = match result_len {
                    0 if result.is_null() => None,
                    len => Some(Bytes::copy_from_slice(bytes(result, len, most, "a result")?)),
                };
                Ok(Finish::Done { result })
            })
        })
    }
}

/// Ends the task: it has failed. `class_name` is what the retry rules of the job name; `message` is for people.
/// The class is UTF-8; what is not UTF-8 in the message is replaced. The first 1,024 bytes of them are kept. `delay_ms` is that of
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
        status_at_once(error, || {
            finish(task, settled, || {
                let policy = policy_of(policy, delay_ms)?;
                let (class, message) =
                    (text(class_name, "class_name")?, pointer::message(message)?);
                Ok(Finish::Failed(JobError::new(class, message).policy(policy)))
            })
        })
    }
}

/// As leaseq_task_fail(), with the names of several classes: the most specific first, then what it is a kind of. The
/// retry rules of the job may name any of them.
/// @return as leaseq_task_fail(), and `LEASEQ_INVALID` without a name.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "those of leaseq_task_fail, and a count")]
pub unsafe extern "C" fn leaseq_task_fail_classes(
    task: Option<&leaseq_task>,
    class_names: *const *const c_char,
    count: usize,
    message: *const c_char,
    policy: i32,
    delay_ms: i64,
    settled: *mut leaseq_settled,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status_at_once(error, || {
            finish(task, settled, || {
                let policy = policy_of(policy, delay_ms)?;
                let names = array(class_names, count, "class_names")?;
                let names: Vec<_> =
                    names.iter().map(|name| text(*name, "class_names")).collect::<Result<_>>()?;
                if names.is_empty() {
                    return Err(Failure::invalid("an error without the name of a class"));
                }
                let error = JobError::with_classes(names, pointer::message(message)?);
                Ok(Finish::Failed(error.policy(policy)))
            })
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
        status_at_once(error, || {
            finish(task, settled, || Ok(Finish::Snooze(duration(delay_ms, "a delay")?)))
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
    unsafe { status_at_once(error, || finish(task, settled, || Ok(Finish::Cancelled))) }
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
        status_at_once(error, || {
            finish(task, settled, || {
                Ok(Finish::InvalidArgs(pointer::message(message)?.into_owned()))
            })
        })
    }
}
