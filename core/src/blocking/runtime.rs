//! The runtimes of a process that has none, made at first use, never ended: one for work in the
//! background, and one for callers that wait.

use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use super::driven::{Driven, driven};
use super::own::PerProcess;
use crate::{Error, Result};

static RUNTIME: PerProcess<Runtime> = PerProcess::new();

/// Calls are begun in the order in which they are handed over. With a second thread, one that is held
/// up would be overtaken by the next; and more would only compete with the threads of the program.
const THREADS: usize = 1;

/// This process's runtime for work in the background, as for an event loop that must not wait.
///
/// # Errors
/// `Unavailable` if the operating system gives no threads.
pub fn runtime() -> Result<&'static Handle> {
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime.handle());
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("leaseq")
        .enable_all()
        .build()
        .map_err(|error| {
            Error::unavailable(format_args!("no threads to be had: {error}"), false)
        })?;
    match RUNTIME.set(runtime) {
        (Some(runtime), _) => Ok(runtime.handle()),
        (None, _) => Err(Error::internal("the runtime is of no process")),
    }
}

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

fn allowed() -> Result<&'static Driven> {
    if Handle::try_current().is_ok() {
        return Err(Error::invalid("a blocking call inside an async runtime would stop it"));
    }
    driven()
}
