//! Callers that block until their call ends.

use std::time::Duration;

use tokio::runtime::Handle;

use super::caller_driven::{CallerDrivenRuntime, caller_driven_runtime};
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
            // Outside the runtime, so that a signal handler may make calls.
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
