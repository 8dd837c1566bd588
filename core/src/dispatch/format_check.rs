//! The check of a queue's storage format, before the first operation on it. Calls wait for the check and
//! continue in the order in which they were made.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::Result;

#[derive(Default)]
pub(super) struct FormatCheck {
    passed: AtomicBool,
    /// Calls inside [`run`](FormatCheck::run). A call that comes after the check queues behind them, since
    /// their tasks may not have run yet.
    inside: AtomicUsize,
    /// First come, first served.
    lock: tokio::sync::Mutex<()>,
}

struct Inside<'a>(&'a AtomicUsize);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl FormatCheck {
    /// Whether a call may continue without [`run`](FormatCheck::run).
    pub(super) fn is_done(&self) -> bool {
        self.passed.load(Ordering::Acquire) && self.inside.load(Ordering::Acquire) == 0
    }

    /// Returns when `check` has succeeded once, for this call or an earlier one.
    pub(super) async fn run(&self, check: impl Future<Output = Result<()>>) -> Result<()> {
        self.inside.fetch_add(1, Ordering::AcqRel);
        let _inside = Inside(&self.inside);
        let _lock = self.lock.lock().await;
        if !self.passed.load(Ordering::Acquire) {
            check.await?;
            self.passed.store(true, Ordering::Release);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use tokio::sync::oneshot;

    use super::*;
    use crate::Error;

    fn poll<T>(call: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        call.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn calls_continue_in_the_order_in_which_they_were_made() {
        let check = FormatCheck::default();
        let (passes, passed) = oneshot::channel();
        let mut first = pin!(check.run(async { passed.await.unwrap() }));
        let mut second = pin!(check.run(pending()));
        let mut given_up = Box::pin(check.run(pending()));
        assert!(poll(first.as_mut()).is_pending());
        assert!(poll(second.as_mut()).is_pending());
        assert!(poll(given_up.as_mut()).is_pending());
        passes.send(Ok(())).unwrap();
        assert!(poll(first).is_ready());
        assert!(!check.is_done());
        let mut third = pin!(check.run(pending()));
        assert!(poll(third.as_mut()).is_pending());
        drop(given_up);
        assert!(poll(second).is_ready());
        assert!(poll(third).is_ready());
        assert!(check.is_done());
    }

    #[test]
    fn the_check_is_retried_after_a_failure() {
        let check = FormatCheck::default();
        let failed = poll(pin!(check.run(ready(Err(Error::closed())))));
        assert!(matches!(failed, Poll::Ready(Err(_))));
        assert!(!check.is_done());
        assert!(matches!(poll(pin!(check.run(ready(Ok(()))))), Poll::Ready(Ok(()))));
        assert!(check.is_done());
    }
}
