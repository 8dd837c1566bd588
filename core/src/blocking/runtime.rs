//! Callers that block until their call ends.

use std::panic::resume_unwind;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinError;
use tokio::time::timeout;

use super::caller_driven::{CallerDrivenRuntime, caller_driven_runtime};
use crate::fork::Process;
use crate::{Error, Result};

/// Runs a call to its end on the calling thread.
///
/// # Errors
/// Those of the call; `Invalid` inside an async runtime, which this would block.
pub fn run<T>(call: impl Future<Output = Result<T>>) -> Result<T> {
    allowed()?.run(call)
}

/// [`run`], but calls `go_on` whenever `every` has passed. If that fails, the call is dropped, and leases that it
/// would have got are given back. `go_on` may make blocking calls.
///
/// # Errors
/// Those of the call, as for [`run`], or that of `go_on`; `Invalid` in a process that `go_on` has forked.
pub fn run_while<T: Send + 'static, E: From<Error>>(
    call: impl Future<Output = Result<T>> + Send + 'static,
    every: Duration,
    mut go_on: impl FnMut() -> Result<(), E>,
) -> Result<T, E> {
    let (driven, process) = (allowed()?, Process::current());
    let mut call = Box::pin(call);
    if let Ok(answer) = driven.run(async { timeout(every, call.as_mut()).await }) {
        return Ok(answer?);
    }
    // From now on it goes on by itself: the calls that a signal handler makes may need what this one has begun, such as
    // the first look at a queue.
    let mut task = driven.spawn(call);
    loop {
        // Outside the runtime, so that a signal handler may make calls.
        let asked = go_on();
        if process != Process::current() {
            // Its thread is in the parent.
            std::mem::forget(task);
            asked?;
            return Err(Error::of_parent().into());
        }
        if let Err(error) = asked {
            task.abort();
            // Until it is dropped.
            drop(driven.run(task));
            return Err(error);
        }
        if let Ok(ended) = driven.run(async { timeout(every, &mut task).await }) {
            return Ok(answer_of(ended)?);
        }
    }
}

fn answer_of<T>(ended: std::result::Result<Result<T>, JoinError>) -> Result<T> {
    ended.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        // The runtime shuts down.
        Err(_) => Err(Error::closed()),
    })
}

fn allowed() -> Result<&'static CallerDrivenRuntime> {
    if Handle::try_current().is_ok() {
        return Err(Error::invalid("a blocking call inside an async runtime would stop it"));
    }
    caller_driven_runtime()
}
