//! Callers that wait for their calls.

use std::time::Duration;

use tokio::runtime::Handle;

use super::caller_driven::{CallerDrivenRuntime, caller_driven_runtime};
use crate::{Error, Result};

/// Runs a call to its end on the calling thread.
///
/// # Errors
/// Those of the call; `Invalid` inside an async runtime, which this would stop.
pub fn run<T>(call: impl Future<Output = Result<T>>) -> Result<T> {
    allowed()?.run(call)
}

/// [`run`], but asks `go_on` each time `every` has passed. If it says no, the call is dropped: what
/// it would have leased is given back. `go_on` may make blocking calls of its own.
///
/// # Errors
/// Those of the call, as for [`run`], or that of `go_on`.
pub fn run_while<T, E: From<Error>>(
    call: impl Future<Output = Result<T>>,
    every: Duration,
    mut go_on: impl FnMut() -> Result<(), E>,
) -> Result<T, E> {
    let driven = allowed()?;
    let mut call = std::pin::pin!(call);
    loop {
        let answer = driven.run(async { tokio::time::timeout(every, call.as_mut()).await });
        match answer {
            Ok(answer) => return Ok(answer?),
            // Outside the runtime: a signal's handler is a program like any other.
            Err(_) => go_on()?,
        }
    }
}

fn allowed() -> Result<&'static CallerDrivenRuntime> {
    if Handle::try_current().is_ok() {
        return Err(Error::invalid("a blocking call inside an async runtime would stop it"));
    }
    caller_driven_runtime()
}
