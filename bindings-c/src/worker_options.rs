//! What a worker of jobs is told.

use std::ffi::c_char;
use std::time::Duration;

use leaseq_jobs::{JobOptions, Order, QueueOptions, WorkerOptions};

use crate::child_program::ChildProgram;
use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::guard;
use crate::options::{make, set};
use crate::pointer::{duration, text};

/// What a worker of jobs is told.
pub struct leaseq_worker_options {
    pub(crate) options: WorkerOptions,
    pub(crate) children: Option<ChildProgram>,
}

impl Default for leaseq_worker_options {
    fn default() -> Self {
        let mut options = WorkerOptions::new();
        options.language = "c".into();
        leaseq_worker_options { options, children: None }
    }
}

impl leaseq_worker_options {
    pub(crate) fn job(&mut self, name: &str) -> Result<&mut JobOptions> {
        let unknown = || Failure::invalid(format_args!("job {name} was not added to the options"));
        self.options.jobs.get_mut(name).ok_or_else(unknown)
    }
}

/// The default options of a worker; it needs at least one queue and one job.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_new(
    options: *mut *mut leaseq_worker_options,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { make(options, error) }
}

/// Leases from this queue; or from all queues whose names match a pattern, also from new ones: `*`
/// stands for any text, `?` for a character. Of several queues, jobs are started by their weights, 1
/// to 1,000.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL; leaseq_worker_start() checks name and weight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_add_queue(
    options: Option<&mut leaseq_worker_options>,
    name: *const c_char,
    weight: u32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.options.queues.push(QueueOptions::new(text(name, "name")?).weight(weight));
            Ok(())
        })
    }
}

/// Adds a job that the worker has a handler for, with the defaults: a timeout of 1 hour, 10 attempts.
/// Jobs of other names are released for workers that know them.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, or for a name that was added before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_add_job(
    options: Option<&mut leaseq_worker_options>,
    name: *const c_char,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let name = text(name, "name")?;
            if options.options.jobs.contains_key(name) {
                return Err(Failure::invalid(format_args!("job {name} has two handlers")));
            }
            options.options.jobs.insert(name.to_owned(), JobOptions::new());
            Ok(())
        })
    }
}

/// How long a handler of this job may run before it is cancelled, 1 ms to 30 days, unless the job was
/// added with a timeout of its own. Default: 1 hour.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, a negative time, or a job that was not added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_job_timeout_ms(
    options: Option<&mut leaseq_worker_options>,
    name: *const c_char,
    timeout_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let name = text(name, "name")?;
            options.job(name)?.timeout = duration(timeout_ms, &format!("job {name}: a timeout"))?;
            Ok(())
        })
    }
}

/// How often this job is tried, 1 to 65,535, and how long it waits before: a random time between 0 and
/// `base_ms` · 2ⁿ, at most `cap_ms`, where n is the number of earlier attempts. Defaults: 10, 1 s, 10
/// minutes.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, a negative time, or a job that was not added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_job_retry(
    options: Option<&mut leaseq_worker_options>,
    name: *const c_char,
    attempts: u32,
    base_ms: i64,
    cap_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let name = text(name, "name")?;
            let retry = &mut options.job(name)?.retry;
            let base = duration(base_ms, &format!("job {name}: a base"))?;
            let cap = duration(cap_ms, &format!("job {name}: a cap"))?;
            (retry.attempts, retry.base, retry.cap) = (attempts, base, cap);
            Ok(())
        })
    }
}

/// Names a class of errors of this job: one that is retried, and no others but those that are named so; or one that
/// is never retried. leaseq_task_fail() says which class an error has.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, or a job that was not added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_add_job_retry_class(
    options: Option<&mut leaseq_worker_options>,
    name: *const c_char,
    class_name: *const c_char,
    retried: bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let name = text(name, "name")?;
            let retry = &mut options.job(name)?.retry;
            let class = text(class_name, &format!("job {name}: class_name"))?;
            let list = if retried { &mut retry.on } else { &mut retry.never };
            list.push(class.to_owned());
            Ok(())
        })
    }
}

/// How many jobs run at the same time: 1 to 1,000. Default: 90 % of the processors, at least 10.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL; leaseq_worker_start() checks the number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_slots(
    options: Option<&mut leaseq_worker_options>,
    slots: u32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.options.slots = slots as usize;
            Ok(())
        })
    }
}

/// Leases this many jobs in advance, while all slots have one, so that a slot does not wait for the server
/// between two short jobs. They wait in this worker although another one may be idle; it gives them back
/// when it ends. With the slots at most 1,000. Default: 0.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL; leaseq_worker_start() checks the number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_prefetch(
    options: Option<&mut leaseq_worker_options>,
    prefetch: u32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.options.prefetch = prefetch as usize;
            Ok(())
        })
    }
}

/// Leases from a queue only if those that were added before it have nothing. Default: false, by their
/// weights.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_strict_order(
    options: Option<&mut leaseq_worker_options>,
    strict: bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.options.order = if strict { Order::Strict } else { Order::Weighted };
            Ok(())
        })
    }
}

/// Leases jobs for this time, 100 ms to 30 days, and extends the leases while handlers run. A job of a
/// worker that was killed is delivered again after this time. Default: 30 s.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_lease_ms(
    options: Option<&mut leaseq_worker_options>,
    lease_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { set_time(options, lease_ms, "a lease", error, |options| &mut options.lease) }
}

/// Gives up a handler that still runs this long after its timeout: it keeps its slot and its lease until
/// it returns, and if there are many of those, the worker ends. Default: 10 s.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_kill_after_ms(
    options: Option<&mut leaseq_worker_options>,
    kill_after_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { set_time(options, kill_after_ms, "a time", error, |options| &mut options.kill_after) }
}

/// Ends the worker after so many jobs; 0: never. Default: never.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_max_jobs(
    options: Option<&mut leaseq_worker_options>,
    max_jobs: u64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.options.max_jobs = (max_jobs > 0).then_some(max_jobs);
            Ok(())
        })
    }
}

/// Ends the worker when its queues have nothing more to lease and no job runs. Default: false.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_burst(
    options: Option<&mut leaseq_worker_options>,
    burst: bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.options.burst = burst;
            Ok(())
        })
    }
}

/// The name under which the worker is listed, which stays the same when it is started again. Workers of
/// one name are quiet together. Default: the program and the host.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_name(
    options: Option<&mut leaseq_worker_options>,
    name: *const c_char,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.options.name = Some(text(name, "name")?.to_owned());
            Ok(())
        })
    }
}

/// Whether the process ends when the worker does. Jobs of handlers that do not return are then given to
/// other workers, so the process must end at once: see leaseq_worker_gave_up(). Default: false, such a job
/// stays leased until its handler returns.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_owns_process(
    options: Option<&mut leaseq_worker_options>,
    owns_process: bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.options.owns_process = owns_process;
            Ok(())
        })
    }
}

/// Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_free(options: *mut *mut leaseq_worker_options) {
    // SAFETY: made by leaseq_worker_options_new.
    unsafe { guard::free(options) }
}

/// Sets an option that is a time.
///
/// # Safety
/// `error` is NULL or may be written.
unsafe fn set_time(
    options: Option<&mut leaseq_worker_options>,
    ms: i64,
    name: &str,
    error: *mut *mut leaseq_error,
    place: impl FnOnce(&mut WorkerOptions) -> &mut Duration,
) -> leaseq_status {
    // SAFETY: as above.
    unsafe {
        set(options, error, |options| {
            *place(&mut options.options) = duration(ms, name)?;
            Ok(())
        })
    }
}
