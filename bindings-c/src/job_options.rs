//! What a producer says about a job, besides the options of its item.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::time::Duration;

use leaseq_jobs::{NewJob, RetryRules};

use crate::error::{leaseq_error, leaseq_status};
use crate::guard;
use crate::options::{make, set};
use crate::pointer::{duration, text};

/// What a producer says about a job. What is set takes precedence over what the worker says, the rest is left to that.
#[derive(Default)]
pub struct leaseq_job_options {
    timeout: Option<Duration>,
    retry: Option<RetryRules>,
    meta: BTreeMap<String, String>,
}

impl leaseq_job_options {
    pub(crate) fn apply(&self, mut job: NewJob) -> NewJob {
        for (name, value) in &self.meta {
            job = job.meta(name, value);
        }
        job = self.timeout.into_iter().fold(job, NewJob::timeout);
        self.retry.clone().into_iter().fold(job, NewJob::retry_rules)
    }
}

/// Options without anything set.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_job_options_new(
    options: *mut *mut leaseq_job_options,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { make(options, error) }
}

/// How long its handler may run before it is cancelled: 1 ms to 30 days.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time; leaseq_queue_enqueue_with() checks the limits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_job_options_set_timeout_ms(
    options: Option<&mut leaseq_job_options>,
    timeout_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.timeout = Some(duration(timeout_ms, "a timeout")?);
            Ok(())
        })
    }
}

/// How often it is tried, 1 to 65,535, and how long it waits before: see leaseq_worker_options_set_job_retry(). The classes
/// of errors that the worker names stay.
/// @return as leaseq_job_options_set_timeout_ms().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_job_options_set_retry(
    options: Option<&mut leaseq_job_options>,
    attempts: u32,
    base_ms: i64,
    cap_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let (base, cap) = (duration(base_ms, "a base")?, duration(cap_ms, "a cap")?);
            let rules = options.retry.get_or_insert_default();
            (rules.attempts, rules.base, rules.cap) = (Some(attempts), Some(base), Some(cap));
            Ok(())
        })
    }
}

/// Names a class of errors that is retried, and no others but those that are named so; or one that is never retried. The
/// first one replaces all classes of its kind that the worker names.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_job_options_add_retry_class(
    options: Option<&mut leaseq_job_options>,
    class_name: *const c_char,
    retried: bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let class = text(class_name, "class_name")?;
            let rules = options.retry.get_or_insert_default();
            let list = if retried { &mut rules.on } else { &mut rules.never };
            list.get_or_insert_default().push(class.to_owned());
            Ok(())
        })
    }
}

/// Attaches a text for its handler, which reads it with leaseq_task_meta(), such as a `traceparent`. A second one of the
/// same name replaces the first.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_job_options_set_meta(
    options: Option<&mut leaseq_job_options>,
    name: *const c_char,
    value: *const c_char,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.meta.insert(text(name, "name")?.to_owned(), text(value, "value")?.to_owned());
            Ok(())
        })
    }
}

/// Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_job_options_free(options: *mut *mut leaseq_job_options) {
    // SAFETY: made by leaseq_job_options_new.
    unsafe { guard::free(options) }
}
