//! Before the first operation on a queue something must be found out: calls wait for that, and go on in
//! the order in which they came.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::Result;

#[derive(Default)]
pub(super) struct Opening {
    opened: AtomicBool,
    /// Calls that are in here. One that comes when it is opened waits behind those, which may not have
    /// run since.
    inside: AtomicUsize,
    /// First come, first served.
    door: tokio::sync::Mutex<()>,
}

struct Inside<'a>(&'a AtomicUsize);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl Opening {
    /// Whether a call may go on without `pass`.
    pub(super) fn is_clear(&self) -> bool {
        self.opened.load(Ordering::Acquire) && self.inside.load(Ordering::Acquire) == 0
    }

    /// Passes when `open` has succeeded once, for this call or an earlier one.
    pub(super) async fn pass(&self, open: impl Future<Output = Result<()>>) -> Result<()> {
        self.inside.fetch_add(1, Ordering::AcqRel);
        let _inside = Inside(&self.inside);
        let _door = self.door.lock().await;
        if !self.opened.load(Ordering::Acquire) {
            open.await?;
            self.opened.store(true, Ordering::Release);
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
    fn calls_go_on_in_the_order_in_which_they_came() {
        let opening = Opening::default();
        let (opened, open) = oneshot::channel();
        let mut first = pin!(opening.pass(async { open.await.unwrap() }));
        let mut second = pin!(opening.pass(pending()));
        let mut given_up = Box::pin(opening.pass(pending()));
        assert!(poll(first.as_mut()).is_pending());
        assert!(poll(second.as_mut()).is_pending());
        assert!(poll(given_up.as_mut()).is_pending());
        opened.send(Ok(())).unwrap();
        assert!(poll(first).is_ready());
        assert!(!opening.is_clear());
        let mut third = pin!(opening.pass(pending()));
        assert!(poll(third.as_mut()).is_pending());
        drop(given_up);
        assert!(poll(second).is_ready());
        assert!(poll(third).is_ready());
        assert!(opening.is_clear());
    }

    #[test]
    fn it_is_tried_again_after_a_failure() {
        let opening = Opening::default();
        let failed = poll(pin!(opening.pass(ready(Err(Error::closed())))));
        assert!(matches!(failed, Poll::Ready(Err(_))));
        assert!(!opening.is_clear());
        assert!(matches!(poll(pin!(opening.pass(ready(Ok(()))))), Poll::Ready(Ok(()))));
        assert!(opening.is_clear());
    }
}
