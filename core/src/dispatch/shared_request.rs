//! Work that calls share, such as a poll loop. The call that starts it drives it while it is alone, so that
//! no other task has to be woken. A task of its own takes over when another call depends on the work, or
//! when the first call is dropped.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::task::{Context as TaskContext, Poll};

use tokio::sync::oneshot;

use super::context::Context;

pub(crate) struct SharedRequest {
    context: Arc<Context>,
    work: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    /// Other calls depend on the work, so a call that is not polled must not drive it.
    is_shared: AtomicBool,
}

impl SharedRequest {
    /// When a panic drops `work`, its drop guards must answer its calls and let other calls continue.
    pub(crate) fn new(
        context: &Arc<Context>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Arc<SharedRequest> {
        // `close` waits for the work, whoever drives it.
        let work = context.tasks.track_future(contain(work));
        Arc::new(SharedRequest {
            context: context.clone(),
            work: Mutex::new(Some(Box::pin(work))),
            is_shared: AtomicBool::new(false),
        })
    }

    /// Moves the work to a task of its own. The caller must hold no lock that the work takes.
    pub(crate) fn spawn(&self) {
        self.is_shared.store(true, Ordering::SeqCst);
        let work = match self.work.try_lock() {
            Ok(mut work) => work.take(),
            Err(TryLockError::Poisoned(work)) => work.into_inner().take(),
            // Its first call polls it right now, and spawns it afterwards.
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
        // `close` spawns the shared requests that it finds. This one may have started a moment later.
        if self.is_shared.load(Ordering::SeqCst) || self.context.closed.is_cancelled() {
            self.spawn();
        }
    }
}

/// Ends the work at a panic, which is a defect and must not unwind into the call that drives the work.
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

/// Drives the work until the answer has arrived. A task continues what is left of it.
pub(crate) async fn drive<T>(
    request: Arc<SharedRequest>,
    answer: &mut oneshot::Receiver<T>,
) -> Result<T, oneshot::error::RecvError> {
    struct Driver(Arc<SharedRequest>);
    impl Drop for Driver {
        fn drop(&mut self) {
            self.0.spawn();
        }
    }
    let driver = Driver(request);
    poll_fn(|task| -> Poll<_> {
        driver.0.poll(task);
        Pin::new(&mut *answer).poll(task)
    })
    .await
}
