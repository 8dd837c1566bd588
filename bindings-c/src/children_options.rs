//! What a worker is told about its children.

use std::ffi::c_char;

use crate::child_program::ChildProgram;
use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::options::set;
use crate::pointer::{array, duration, text};
use crate::worker_options::leaseq_worker_options;

impl leaseq_worker_options {
    fn children(&mut self) -> Result<&mut ChildProgram> {
        let none = || Failure::invalid("the options have no children: set their program first");
        self.children.as_mut().ok_or_else(none)
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
            let program = text(program, "program")?.to_owned();
            let args = array(args, args_len, "args")?.iter();
            let args = args.map(|arg| Ok(text(*arg, "args")?.to_owned())).collect::<Result<_>>()?;
            options.children = Some(ChildProgram { program, args, ..Default::default() });
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
            options.children()?.max_jobs = max_jobs;
            Ok(())
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
            let children = options.children()?;
            (children.max_memory, children.memory_limit) = (max_memory, memory_limit);
            Ok(())
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
            options.children()?.start_timeout = Some(time);
            Ok(())
        })
    }
}
