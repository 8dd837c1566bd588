//! The runtime of callers that block. A caller drives its call itself, with sockets and timers, so that no other
//! thread has to be woken. Waking one twice would take most of the time of a call to a nearby server. Between
//! calls a thread, the background driver, does the background work.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::process_bound::PerProcess;
use crate::{Error, Result};

static RUNTIME: PerProcess<CallerDrivenRuntime> = PerProcess::new();

/// A caller that returns within this time drives the runtime itself. Background work may have to wait this long
/// between two calls.
const SOON: Duration = Duration::from_millis(1);

pub(super) struct CallerDrivenRuntime {
    runtime: Runtime,
    begun: Instant,
    /// How many callers are inside, how many have entered, and when the last one left, in ns since `begun`.
    inside: AtomicUsize,
    came: AtomicUsize,
    left: AtomicU64,
    /// When a caller last let background work go first, in ns since `begun`.
    yielded: AtomicU64,
    background_driver: Thread,
    /// The background driver drives the runtime, until `leave` notifies it.
    keeps: AtomicBool,
    leave: Notify,
    /// The background driver sleeps until the last caller leaves.
    sleeps: AtomicBool,
}

/// The runtime of this process.
///
/// # Errors
/// `Unavailable` if the operating system gives no threads.
pub(super) fn caller_driven_runtime() -> Result<&'static CallerDrivenRuntime> {
    if let Some(driven) = RUNTIME.get() {
        return Ok(driven);
    }
    let none = |error: std::io::Error| {
        Error::unavailable(format_args!("no threads to be had: {error}"), false)
    };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(none)?;
    let (driven, given) = mpsc::channel::<&'static CallerDrivenRuntime>();
    let keep = move || given.recv().map(CallerDrivenRuntime::keep).unwrap_or_default();
    let background_driver =
        thread::Builder::new().name("leaseq".into()).spawn(keep).map_err(none)?;
    let (here, spare) = RUNTIME.set(CallerDrivenRuntime {
        runtime,
        begun: Instant::now(),
        inside: AtomicUsize::new(0),
        came: AtomicUsize::new(0),
        left: AtomicU64::new(0),
        yielded: AtomicU64::new(0),
        background_driver: background_driver.thread().clone(),
        keeps: AtomicBool::new(false),
        leave: Notify::new(),
        sleeps: AtomicBool::new(false),
    });
    let here = here.ok_or_else(|| Error::internal("the runtime is of no process"))?;
    if spare.is_none() {
        // If two were created at the same time, the background driver of the spare one ends.
        let _ = driven.send(here);
    }
    Ok(here)
}

/// A caller that is inside.
struct Inside<'a>(&'a CallerDrivenRuntime);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let driven = self.0;
        driven.left.store(driven.now(), Ordering::Relaxed);
        if driven.inside.fetch_sub(1, Ordering::SeqCst) == 1
            && driven.sleeps.swap(false, Ordering::SeqCst)
        {
            driven.background_driver.unpark();
        }
    }
}

impl CallerDrivenRuntime {
    fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// Runs a call to its end, and whatever else is to be done meanwhile.
    pub(super) fn run<T>(&self, call: impl Future<Output = T>) -> T {
        self.inside.fetch_add(1, Ordering::SeqCst);
        let _inside = Inside(self);
        self.came.fetch_add(1, Ordering::SeqCst);
        let now = self.now();
        let soon_after = |time: &AtomicU64| {
            u128::from(now.saturating_sub(time.load(Ordering::Relaxed))) < SOON.as_nanos()
        };
        // An occasional caller is served faster by a thread that already drives.
        if soon_after(&self.left) && self.keeps.swap(false, Ordering::SeqCst) {
            self.leave.notify_one();
        }
        let yields = !soon_after(&self.yielded);
        if yields {
            self.yielded.store(now, Ordering::Relaxed);
        }
        self.runtime.block_on(async {
            // A call that completes at once drives nothing, and many of them keep the background driver
            // away.
            if yields {
                tokio::task::yield_now().await;
            }
            call.await
        })
    }

    /// Lets a call go on beside all others.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        call: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.runtime.spawn(call)
    }

    /// Runs the background driver.
    fn keep(&self) {
        loop {
            self.keeps.store(true, Ordering::SeqCst);
            self.runtime.block_on(self.leave.notified());
            while self.callers_drive() {}
        }
    }

    /// Rests. False if no caller has entered meanwhile, and none is inside.
    fn callers_drive(&self) -> bool {
        let came = self.came.load(Ordering::SeqCst);
        thread::park_timeout(SOON);
        let others = self.came.load(Ordering::SeqCst) != came;
        if !others && self.inside.load(Ordering::SeqCst) > 0 {
            // A long call, which drives the runtime until it ends.
            self.sleeps.store(true, Ordering::SeqCst);
            while self.inside.load(Ordering::SeqCst) > 0 && self.sleeps.load(Ordering::SeqCst) {
                thread::park();
            }
            self.sleeps.store(false, Ordering::SeqCst);
        }
        others || self.inside.load(Ordering::SeqCst) > 0
    }
}
