//! Calls that run in the background, for programs whose event loop must not block.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::unconstrained;

use super::process_bound::PerProcess;
use crate::{Error, Result};

static BACKGROUND: PerProcess<Background> = PerProcess::new();

/// More threads would only compete with those of the program.
const THREADS: usize = 1;

type Call = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The runtime of this process, created at first use. It never ends.
struct Background {
    _runtime: Runtime,
    calls: UnboundedSender<Call>,
}

/// Runs a call in the background. Calls are executed in the order in which they are started. A call that panics
/// is dropped.
///
/// # Errors
/// `Unavailable` if the operating system gives no threads.
pub fn start(call: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    let background = match BACKGROUND.get() {
        Some(background) => background,
        None => BACKGROUND
            .set(Background::new()?)
            .0
            .ok_or_else(|| Error::internal("the runtime is of no process"))?,
    };
    background.calls.send(Box::pin(call)).map_err(|_| Error::internal("the runtime has ended"))
}

impl Background {
    fn new() -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("leaseq")
            .enable_all()
            .build()
            .map_err(|error| {
                Error::unavailable(format_args!("no threads to be had: {error}"), false)
            })?;
        let (calls, started) = unbounded_channel();
        runtime.spawn(begin_in_order(started));
        Ok(Background { _runtime: runtime, calls })
    }
}

/// Polls each call once, in order, which gives it its place among the calls. A runtime guarantees no order for
/// the first polls of its tasks, not even with a single thread.
async fn begin_in_order(mut calls: UnboundedReceiver<Call>) {
    while let Some(mut call) = calls.recv().await {
        // Ignores the budget of this task, so that the call gets as far as it can.
        let begin = unconstrained(poll_fn(|task| {
            Poll::Ready(catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(task))))
        }));
        match begin.await {
            Ok(Poll::Pending) => drop(tokio::spawn(call)),
            Ok(Poll::Ready(())) => {}
            Err(_) => tracing::error!("a panic in a call: this is a defect in leaseq"),
        }
    }
}
