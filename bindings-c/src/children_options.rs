//! What a worker is told about its children, and about the classes of errors.

use std::ffi::c_char;

use leaseq_jobs::Children;

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::job_options::add_class;
use crate::options::set;
use crate::pointer::{array, duration, text};
use crate::worker_options::leaseq_worker_options;

impl leaseq_worker_options {
    /// Changes what is known about the children.
    fn change_children(&mut self, change: impl FnOnce(Children) -> Children) -> Result {
        let none = || Failure::invalid("the options have no children: set their program first");
        self.children = Some(change(self.children.take().ok_or_else(none)?));
        Ok(())
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
            let class = text(class_name, "class_name")?;
            add_class(&mut options.job(text(name, "name")?)?.retry, class, retried);
            Ok(())
        })
    }
}

/// Runs the jobs in child processes: this program with these arguments, started for each slot, which calls
/// leaseq_child_run() or speaks the child protocol in another way. Without a slash it is looked up in `PATH`;
/// `/proc/self/exe` is the program of the worker itself. A handler that crashes then fails its job, and ends its child
/// only. The children say what jobs there are: those of these options have no effect. Tasks do not come to
/// leaseq_worker_next().
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_children(
    options: Option<&mut leaseq_worker_options>,
    program: *const c_char,
    args: *const *const c_char,
    args_len: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let program = text(program, "program")?;
            let args = array(args, args_len, "args")?.iter().map(|arg| text(*arg, "args"));
            let args = args.collect::<Result<Vec<_>>>()?;
            options.children = Some(Children::new(program).args(args));
            Ok(())
        })
    }
}

/// Replaces a child after so many jobs; 1: each job has a child of its own; 0: never, which is the default.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL, and without leaseq_worker_options_set_children().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_children_max_jobs(
    options: Option<&mut leaseq_worker_options>,
    max_jobs: u64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.change_children(|children| match max_jobs {
                0 => children,
                jobs => children.max_jobs(jobs),
            })
        })
    }
}

/// Replaces a child that is larger than `max_memory` bytes (resident size) after a job, and kills one that becomes larger
/// than `memory_limit` during a job, which fails with the class `OutOfMemory`. 0: no limit, the default. Only on Linux.
/// @return as leaseq_worker_options_set_children_max_jobs().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_children_memory(
    options: Option<&mut leaseq_worker_options>,
    max_memory: u64,
    memory_limit: u64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.change_children(|mut children| {
                if max_memory > 0 {
                    children = children.max_memory(max_memory);
                }
                if memory_limit > 0 {
                    children = children.memory_limit(memory_limit);
                }
                children
            })
        })
    }
}

/// How long a child may take to start until it calls leaseq_child_run(). Default: 60 s.
/// @return as leaseq_worker_options_set_children_max_jobs(), and `LEASEQ_INVALID` for a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_options_set_children_start_timeout_ms(
    options: Option<&mut leaseq_worker_options>,
    timeout_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let time = duration(timeout_ms, "a timeout")?;
            options.change_children(|children| children.start_timeout(time))
        })
    }
}
