//! The state of a lease: whether it is held, lost or settled, and until when.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::lock::lock;
use crate::{Error, Result};

const ACTIVE: u8 = 0;
const LOST: u8 = 1;
const SETTLED: u8 = 2;
const DROPPED: u8 = 3;

/// What is known about a cancellation of the item: nobody asks, the client asks, it was requested, or the lease is not
/// current any more.
const UNWATCHED: u8 = 0;
const WATCHED: u8 = 1;
const CANCELLED: u8 = 2;
const OVER: u8 = 3;

/// What is known about progress that the holder has reported: none yet, some, or the lease was not current.
const SILENT: u8 = 0;
const REPORTED: u8 = 1;
const REFUSED: u8 = 2;

/// A call has completed the item through this handle.
const COMPLETED: u32 = 1 << 31;
/// A call that completes it has ended with an unknown outcome.
const UNKNOWN: u32 = 1 << 30;

/// What the handle of a lease shares with its background extension.
#[derive(Debug)]
pub(crate) struct Shared {
    state: AtomicU8,
    /// [`COMPLETED`], [`UNKNOWN`], and the number of calls in progress that complete the item.
    completed: AtomicU32,
    deadline_ms: AtomicU64,
    /// The deadline on the clock of this process, counted from before the request was sent. It is never later
    /// than the server's.
    local: Mutex<Instant>,
    notice: AtomicU8,
    progress: AtomicU8,
    /// The state or the notice has changed.
    changed: Notify,
}

impl Shared {
    pub(super) fn new(deadline_ms: u64, local: Instant) -> Arc<Shared> {
        Arc::new(Shared {
            state: AtomicU8::new(ACTIVE),
            completed: AtomicU32::new(0),
            deadline_ms: AtomicU64::new(deadline_ms),
            local: Mutex::new(local),
            notice: AtomicU8::new(UNWATCHED),
            progress: AtomicU8::new(SILENT),
            changed: Notify::new(),
        })
    }

    fn local(&self) -> MutexGuard<'_, Instant> {
        lock(&self.local)
    }

    pub(crate) fn local_deadline(&self) -> Instant {
        *self.local()
    }

    pub(crate) fn extended(&self, deadline_ms: u64, local: Instant) {
        self.deadline_ms.fetch_max(deadline_ms, Ordering::Relaxed);
        let mut current = self.local();
        *current = local.max(*current);
    }

    /// The lease was completed, released or failed by its holder.
    pub(crate) fn settle(&self) {
        self.state.store(SETTLED, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Whether the item was completed through this handle; `None`: unknown.
    pub(super) fn is_completed(&self) -> Option<bool> {
        match self.completed.load(Ordering::Acquire) {
            0 => Some(false),
            completed if completed & COMPLETED != 0 => Some(true),
            _ => None,
        }
    }

    /// A completion was answered. If it was strict, false means that the lease is not current.
    pub(crate) fn completed(&self, done: bool, strict: bool) {
        if done {
            self.completed.fetch_or(COMPLETED, Ordering::AcqRel);
        }
        if done || !strict { self.settle() } else { self.lose() }
    }

    /// Another worker may have the item now. Does nothing if the lease is settled.
    pub(crate) fn lose(&self) {
        self.leave(LOST);
    }

    /// The handle was dropped.
    pub(super) fn drop_handle(&self) {
        self.leave(DROPPED);
    }

    fn leave(&self, state: u8) {
        let active =
            self.state.compare_exchange(ACTIVE, state, Ordering::AcqRel, Ordering::Acquire);
        if active.is_ok() {
            self.changed.notify_waiters();
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        self.state.load(Ordering::Acquire) == SETTLED
    }

    /// Whether the lease is lost, or its deadline has passed before it was settled.
    pub(super) fn is_lost(&self) -> bool {
        match self.state.load(Ordering::Relaxed) {
            ACTIVE => self.remaining().is_zero(),
            state => state == LOST,
        }
    }

    pub(crate) fn remaining(&self) -> Duration {
        self.local_deadline().saturating_duration_since(Instant::now())
    }

    /// Milliseconds since 1970 on the server's clock.
    pub(super) fn deadline_ms(&self) -> u64 {
        self.deadline_ms.load(Ordering::Relaxed)
    }

    /// True for the first call: the caller begins to watch the lease.
    pub(super) fn begin_watch(&self) -> bool {
        self.notice
            .compare_exchange(UNWATCHED, WATCHED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// The cancellation of the item was requested.
    pub(crate) fn cancel(&self) {
        self.notice.store(CANCELLED, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// The lease is not current any more, perhaps because of a call of its holder that has no reply yet. So this says
    /// nothing about whether it is lost.
    pub(crate) fn end_watch(&self) {
        self.notice.store(OVER, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Whether a cancellation may still be noticed.
    pub(crate) fn is_watched(&self) -> bool {
        self.is_active() && self.notice.load(Ordering::Acquire) == WATCHED
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.notice.load(Ordering::Acquire) == CANCELLED
    }

    /// True for the first report of progress.
    pub(crate) fn begin_report(&self) -> bool {
        self.progress
            .compare_exchange(SILENT, REPORTED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Progress was refused because the lease is not current. As for [`end_watch`](Shared::end_watch), the holder may
    /// have ended it by a call without a reply, so the lease is not lost by that.
    pub(crate) fn refuse_reports(&self) {
        self.progress.store(REFUSED, Ordering::Release);
    }

    pub(crate) fn refuses_reports(&self) -> bool {
        !self.is_active() || self.progress.load(Ordering::Acquire) == REFUSED
    }

    /// Ends when something changes from now on.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Neither settled, lost nor dropped.
    pub(crate) fn is_active(&self) -> bool {
        self.state.load(Ordering::Acquire) == ACTIVE
    }

    /// Returns when the lease is settled, lost or dropped.
    pub(crate) async fn left(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.is_active() {
                return;
            }
            changed.await;
        }
    }
}

/// A call that completes leases. If it is dropped, their outcome stays unknown.
pub(crate) struct Completing(Vec<Arc<Shared>>);

impl Completing {
    /// Until the call ends, it is unknown whether they are completed.
    pub(crate) fn begin(leases: impl IntoIterator<Item = Arc<Shared>>) -> Completing {
        let leases: Vec<_> = leases.into_iter().collect();
        for lease in &leases {
            lease.completed.fetch_add(1, Ordering::AcqRel);
        }
        Completing(leases)
    }

    /// The call has ended with a reply or an error. It has not completed a lease if nothing was executed, or if
    /// the reply for it was false.
    pub(crate) fn end<T>(self, answer: Result<T>) -> Result<T> {
        let unknown = answer.as_ref().is_err_and(Error::outcome_unknown);
        for lease in self.0 {
            if unknown {
                lease.completed.fetch_or(UNKNOWN, Ordering::AcqRel);
            }
            lease.completed.fetch_sub(1, Ordering::AcqRel);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Arc<Shared> {
        Shared::new(0, Instant::now())
    }

    #[test]
    fn each_of_two_calls_that_complete_a_lease_counts_by_itself() {
        let lease = shared();
        assert_eq!(lease.is_completed(), Some(false));
        let [first, second] = [(); 2].map(|()| Completing::begin([lease.clone()]));
        assert_eq!(lease.is_completed(), None);
        let _ = first.end::<()>(Err(Error::unavailable("not sent", false)));
        assert_eq!(lease.is_completed(), None, "the other call is in progress");
        let _ = second.end::<()>(Err(Error::unavailable("no answer", true)));
        assert_eq!(lease.is_completed(), None);
        let third = Completing::begin([lease.clone()]);
        lease.completed(false, false);
        let _ = third.end(Ok(()));
        assert_eq!(lease.is_completed(), None, "it may have been the second");
        lease.completed(true, false);
        assert_eq!(lease.is_completed(), Some(true));
    }

    #[test]
    fn a_call_that_has_failed_has_completed_nothing() {
        let lease = shared();
        let call = Completing::begin([lease.clone()]);
        let _ = call.end::<()>(Err(Error::unavailable("not sent", false)));
        assert_eq!(lease.is_completed(), Some(false));
    }
}
