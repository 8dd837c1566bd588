//! The worker of jobs: it leases, extends, times out and retries; the caller runs handlers.

use std::sync::Arc;
use std::time::Duration;

use leaseq::blocking::{ProcessBound, run};
use leaseq_jobs::{ChildWorker, WorkerCore};

use crate::client::leaseq_client;
use crate::error::{leaseq_error, leaseq_status};
use crate::failure::Result;
use crate::guard::{self, look};
use crate::pointer::{Out, duration, give, given};
use crate::pool::Pool;
use crate::running::{Handlers, Running};
use crate::signals::{self, without_sigpipe};
use crate::status::{status, status_at_once};
use crate::task::leaseq_task;
use crate::version::LEASEQ_WAIT_FOREVER;
use crate::worker_options::leaseq_worker_options;
use crate::worker_task::WorkerTask;

/// Leases jobs for free slots, extends their leases, and sees to timeouts, retries, cancellation and an
/// orderly end. Threads of the program take tasks with leaseq_worker_next() and run them.
pub struct leaseq_worker(ProcessBound<Handle>);

/// The end of the handle is the end of the worker, also while tasks are left.
struct Handle(Arc<Running>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.core().abort();
    }
}

impl leaseq_worker {
    fn get(&self) -> Result<&Arc<Running>> {
        Ok(&self.0.get("the worker")?.0)
    }

    fn here(&self) -> Option<&Arc<Running>> {
        self.get().ok()
    }
}

fn wait_of(wait_ms: i64) -> Result<Option<Duration>> {
    match wait_ms {
        LEASEQ_WAIT_FOREVER => Ok(None),
        ms => Ok(Some(duration(ms, "a wait")?)),
    }
}

/// Starts a worker: it leases jobs from now on. Options are copied. Close the client after the worker has
/// ended. With leaseq_worker_options_set_children() it returns when the first child has started.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an option outside its limits, without a queue or a job, and if the first
/// child does not start; `LEASEQ_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_start(
    client: Option<&leaseq_client>,
    options: Option<&leaseq_worker_options>,
    worker: *mut *mut leaseq_worker,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(worker, std::ptr::null_mut(), "worker")?;
            let client = given(client, "client")?;
            let options = given(options, "options")?;
            let running = run(start(client, options))?;
            place.set(give(leaseq_worker(ProcessBound::new(Handle(Arc::new(running))))));
            Ok(())
        })
    }
}

/// Waits for the next task: 0 does not wait, `LEASEQ_WAIT_FOREVER` has no limit. `*task` is NULL if there
/// was none in this time, or if the worker has ended: leaseq_worker_has_ended() tells. Any number of threads
/// may wait at the same time, one for each slot. A task must be ended, and be freed.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for another negative wait, and if jobs run in child processes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_next(
    worker: Option<&leaseq_worker>,
    wait_ms: i64,
    task: *mut *mut leaseq_task,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status_at_once(error, || {
            let place = Out::one(task, std::ptr::null_mut(), "task")?;
            let worker = given(worker, "worker")?.get()?;
            let wait = wait_of(wait_ms)?;
            let core = worker.here()?;
            let next = match worker.next_now(core) {
                Some(task) => Some(task),
                None => without_sigpipe(|| run(async { Ok(worker.next(core, wait).await) }))?,
            };
            place.set_all(next.map(|task| give(WorkerTask::task(core.clone(), task))));
            Ok(())
        })
    }
}

/// A file descriptor for `poll`, `epoll` or `select`: readable while leaseq_worker_next() has a task without
/// waiting, and when the worker has ended. It belongs to the worker: do not read, write or close it. The
/// worker then holds one task ready, which uses a slot.
/// @return `LEASEQ_OK`; `LEASEQ_UNAVAILABLE` if the process has no file descriptor left; `LEASEQ_INVALID` if jobs run in
/// child processes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_fd(
    worker: Option<&leaseq_worker>,
    fd: *mut i32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(fd, -1, "fd")?;
            place.set(given(worker, "worker")?.get()?.fd()?);
            Ok(())
        })
    }
}

/// What runs a task in leaseq_worker_run() and leaseq_child_run(). A task that it has not ended itself is completed if
/// it returns 0, and fails otherwise. It must not free the task.
pub type leaseq_handler =
    Option<unsafe extern "C" fn(task: *mut leaseq_task, context: *mut std::ffi::c_void) -> i32>;

/// Runs tasks on threads of the library, one for each slot, until the worker has ended and all handlers have
/// returned; if leaseq_worker_gave_up(), without those that hang. `context` is passed to each call of the handler, which
/// finds signals blocked as they are in the calling thread.
/// Another thread ends the worker with leaseq_worker_drain().
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for NULL, or a worker whose jobs run in child processes;
/// `LEASEQ_UNAVAILABLE` if there can be no thread; what has made the worker fail.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_run(
    worker: Option<&leaseq_worker>,
    handler: leaseq_handler,
    context: *mut std::ffi::c_void,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let worker = given(worker, "worker")?.get()?;
            let handler = given(handler, "handler")?;
            worker.here()?;
            // Only passed on, to functions of the caller, who knows what threads may do with it.
            let context = context as usize;
            let was_blocked = signals::was_blocked();
            let handle = move |task| handler(task, context as *mut _);
            let (threads, started) = Pool::start(worker, was_blocked, handle);
            let ended = run(worker.ended(None));
            if !worker.core().exit().gave_up {
                // A thread that has panicked has failed its task.
                threads.into_iter().for_each(|thread| _ = thread.join());
            }
            started?;
            Ok(ended.map(|_| ())?)
        })
    }
}

async fn start(client: &leaseq_client, options: &leaseq_worker_options) -> leaseq::Result<Running> {
    let client = client.client().in_this_process().await?;
    let mut own = options.options.clone();
    let slots = own.slots;
    let handlers = match &options.children {
        None => Handlers::Here(Arc::new(WorkerCore::start(client, own)?)),
        Some(children) => {
            // The children say which there are.
            own.jobs.clear();
            Handlers::InChildren(ChildWorker::start(client, own, &children.children()).await?)
        }
    };
    Ok(Running::new(handlers, slots))
}

/// Ends the worker in order: it leases nothing more, releases what was not taken, and lets tasks run for the
/// grace period. Then it cancels them; after 3 s it gives up those that still run. A second call can shorten
/// the grace period. It returns at once; it takes locks, so a signal handler must not call it.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_drain(
    worker: Option<&leaseq_worker>,
    grace_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let worker = given(worker, "worker")?.get()?;
            worker.core().drain(duration(grace_ms, "a grace period")?);
            Ok(())
        })
    }
}

/// Ends the worker at once. Tasks that run are not reported any more: their leases expire.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_abort(
    worker: Option<&leaseq_worker>,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            given(worker, "worker")?.get()?.core().abort();
            Ok(())
        })
    }
}

/// Waits until the worker has ended, at most for this time; `*ended` tells whether it has, and may be NULL.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for another negative wait; what has made the worker fail.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_wait(
    worker: Option<&leaseq_worker>,
    wait_ms: i64,
    ended: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::wanted(ended, false);
            let worker = given(worker, "worker")?.get()?;
            let wait = wait_of(wait_ms)?;
            place.set(run(worker.ended(wait))?);
            Ok(())
        })
    }
}

/// Whether the worker has ended. False for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_worker_has_ended(worker: Option<&leaseq_worker>) -> bool {
    look(worker, false, |worker| worker.here().is_some_and(|worker| worker.has_ended()))
}

/// The exit status for the process of a worker that has ended: 0; 3 if a burst found nothing to do; 1 if it
/// was aborted, failed, or ended because handlers hang. -1 before that, for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_worker_exit_status(worker: Option<&leaseq_worker>) -> i32 {
    look(worker, -1, |worker| match worker.here() {
        Some(worker) if worker.has_ended() => worker.core().exit().status().into(),
        _ => -1,
    })
}

/// How many jobs it has started. 0 for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_worker_started(worker: Option<&leaseq_worker>) -> u64 {
    look(worker, 0, |worker| worker.here().map_or(0, |worker| worker.core().load().started))
}

/// Whether jobs of handlers that did not return were given to others: the process must end at once. False
/// for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_worker_gave_up(worker: Option<&leaseq_worker>) -> bool {
    look(worker, false, |worker| worker.here().is_some_and(|worker| worker.core().exit().gave_up))
}

/// Frees a worker and makes the pointer NULL. NULL and a pointer to NULL are allowed. A worker that has not
/// ended is aborted. Tasks may be freed later; reporting their end has no effect then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_worker_free(worker: *mut *mut leaseq_worker) {
    // SAFETY: made by leaseq_worker_start.
    unsafe { guard::free(worker) }
}
