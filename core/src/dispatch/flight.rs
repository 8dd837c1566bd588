//! Who drives a request: the call that started it, as long as it is alone, so that no other task
//! has to be woken for it; a task of its own as soon as another call depends on it, or when the
//! first one is dropped.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::task::{Context as TaskContext, Poll};

use tokio::sync::oneshot;

use super::Context;

pub(crate) struct Flight {
    context: Arc<Context>,
    work: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    /// Others depend on it: a call that is not polled must not hold them up.
    has_company: AtomicBool,
}

impl Flight {
    /// `work` must leave its calls answered, and others served, if it is dropped by a panic.
    pub(crate) fn new(
        context: &Arc<Context>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Arc<Flight> {
        // `close` waits for it, whoever drives it.
        let work = context.tasks.track_future(contain(work));
        Arc::new(Flight {
            context: context.clone(),
            work: Mutex::new(Some(Box::pin(work))),
            has_company: AtomicBool::new(false),
        })
    }

    /// Gives it a task of its own. The caller must hold no lock that the work takes.
    pub(crate) fn launch(&self) {
        self.has_company.store(true, Ordering::SeqCst);
        let work = match self.work.try_lock() {
            Ok(mut work) => work.take(),
            Err(TryLockError::Poisoned(work)) => work.into_inner().take(),
            // Its first call is driving it in this moment, and launches it when it is done.
            Err(TryLockError::WouldBlock) => None,
        };
        if let Some(work) = work {
            self.context.runtime.spawn(work);
        }
    }

    fn poll(&self, task: &mut TaskContext<'_>) {
        if let Ok(mut work) = self.work.try_lock()
            && let Some(running) = work.as_mut()
        {
            // Timers and sockets belong to the client's runtime, wherever the call is polled.
            let _inside = self.context.runtime.enter();
            if running.as_mut().poll(task).is_ready() {
                *work = None;
            }
        }
        // Closing launches the flights that it finds; this one may have come a moment later.
        if self.has_company.load(Ordering::SeqCst) || self.context.closed.is_cancelled() {
            self.launch();
        }
    }
}

/// Ends at a panic, which is a defect, and must not come upon the call that drives the work.
async fn contain(work: impl Future<Output = ()>) {
    let mut work = pin!(work);
    poll_fn(|task| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(task)));
        polled.unwrap_or_else(|_| {
            tracing::error!("a panic in the task that sends requests: this is a defect in leaseq");
            Poll::Ready(())
        })
    })
    .await;
}

/// Drives the flight until the answer is there; what is left of it then goes on by itself.
pub(crate) async fn drive<T>(
    flight: Arc<Flight>,
    answer: &mut oneshot::Receiver<T>,
) -> Result<T, oneshot::error::RecvError> {
    struct Driver(Arc<Flight>);
    impl Drop for Driver {
        fn drop(&mut self) {
            self.0.launch();
        }
    }
    let driver = Driver(flight);
    poll_fn(|task| -> Poll<_> {
        driver.0.poll(task);
        Pin::new(&mut *answer).poll(task)
    })
    .await
}
