//! A claim on one item until a deadline.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use crate::engine::{LeasedItem, Token};
use crate::item::read_json;
use crate::name::QueueName;
use crate::{Error, Result};

const ACTIVE: u8 = 0;
const LOST: u8 = 1;
const SETTLED: u8 = 2;
const DROPPED: u8 = 3;

/// This handle has completed the item.
const COMPLETED: u32 = 1 << 31;
/// A call that was to complete it has ended with an unknown outcome.
const UNKNOWN: u32 = 1 << 30;

/// One item, leased. Dropping it does not give the item back: the lease then runs out and the item
/// is delivered again.
#[derive(Debug)]
pub struct Lease {
    pub(crate) queue: QueueName,
    pub(crate) item: LeasedItem,
    pub(crate) shared: Arc<Shared>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Ends the background extension, if there is one.
        self.shared.leave(DROPPED);
    }
}

/// What the handle shares with its background extension.
#[derive(Debug)]
pub(crate) struct Shared {
    state: AtomicU8,
    /// [`COMPLETED`], [`UNKNOWN`], and how many calls to complete the item have not ended.
    completed: AtomicU32,
    deadline_ms: AtomicU64,
    /// The deadline on this process's own clock, counted from before the request was sent: never
    /// later than the server's.
    local: Mutex<Instant>,
    /// The state has changed.
    changed: Notify,
}

impl Shared {
    fn local(&self) -> MutexGuard<'_, Instant> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// The leases are about to be completed: until there is an answer, nobody knows whether they are.
    pub(crate) fn begin_completing(leases: &[&Lease]) -> Completing {
        let begun = leases.iter().map(|lease| {
            lease.shared.completed.fetch_add(1, Ordering::AcqRel);
            lease.shared.clone()
        });
        Completing(begun.collect())
    }

    /// A complete was answered. False, if it was strict: the lease is not current.
    pub(crate) fn completed(&self, done: bool, strict: bool) {
        if done {
            self.completed.fetch_or(COMPLETED, Ordering::AcqRel);
        }
        if done || !strict { self.settle() } else { self.lose() }
    }

    /// Somebody else may have the item now. After settling there is nothing to lose.
    pub(crate) fn lose(&self) {
        self.leave(LOST);
    }

    fn leave(&self, state: u8) {
        let active =
            self.state.compare_exchange(ACTIVE, state, Ordering::AcqRel, Ordering::Acquire);
        if active.is_ok() {
            self.changed.notify_waiters();
        }
    }

    /// Neither settled, lost nor dropped.
    fn is_active(&self) -> bool {
        self.state.load(Ordering::Acquire) == ACTIVE
    }

    /// Returns when the lease is settled, lost or dropped.
    pub(crate) async fn left(&self) {
        let changed = self.changed.notified();
        if self.is_active() {
            changed.await;
        }
    }
}

/// Leases that a call is about to complete. Of one that is dropped nobody knows the outcome.
pub(crate) struct Completing(Vec<Arc<Shared>>);

impl Completing {
    /// The answer has come, or an error. Where that says that nothing was executed, or the answer was
    /// false, this call has not completed the lease.
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

impl Lease {
    pub(crate) fn new(queue: QueueName, item: LeasedItem, asked_at: Instant) -> Self {
        let shared = Shared {
            state: AtomicU8::new(ACTIVE),
            completed: AtomicU32::new(0),
            deadline_ms: AtomicU64::new(item.deadline_ms),
            local: Mutex::new(local_deadline(asked_at, Duration::from_millis(item.duration_ms))),
            changed: Notify::new(),
        };
        Lease { queue, item, shared: Arc::new(shared) }
    }

    pub(crate) fn token(&self) -> Token {
        self.item.token
    }

    /// Name of the queue.
    pub fn queue(&self) -> &str {
        self.queue.as_str()
    }

    /// The item's id.
    pub fn id(&self) -> &[u8] {
        &self.item.id
    }

    /// The item's id as text; `None` if it is not UTF-8.
    pub fn id_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.item.id).ok()
    }

    /// The item's data.
    pub fn data(&self) -> &Bytes {
        &self.item.data
    }

    /// The data read as JSON.
    ///
    /// # Errors
    /// `Invalid` if it is not JSON, or not of this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        read_json(&self.item.id, &self.item.data)
    }

    /// 1 for the first delivery; 1 + failures + expiries after that.
    pub fn attempt(&self) -> u32 {
        1 + self.item.failures + self.item.expiries
    }

    /// How many earlier deliveries ended with `fail`.
    pub fn failures(&self) -> u32 {
        self.item.failures
    }

    /// How many earlier deliveries ended with an expired lease.
    pub fn expiries(&self) -> u32 {
        self.item.expiries
    }

    /// The limit of attempts, if the item has one.
    pub fn max_attempts(&self) -> Option<u32> {
        self.item.max_attempts
    }

    /// 0 to 9.
    pub fn priority(&self) -> u8 {
        self.item.priority
    }

    /// The text of the last `fail`; empty if there was none.
    pub fn last_error(&self) -> &str {
        &self.item.last_error
    }

    /// Generation of the item: one life of its id, from the add to the completion. It goes up with
    /// every add of an id, so it can fence off writers of an earlier generation.
    pub fn generation(&self) -> u64 {
        self.item.token.generation.count
    }

    /// When the lease expires, on the server's clock, as far as this handle knows.
    pub fn deadline(&self) -> SystemTime {
        from_ms(self.shared.deadline_ms.load(Ordering::Relaxed))
    }

    /// Time left on this process's clock, counted so that it never says more than the server would.
    pub fn remaining(&self) -> Duration {
        self.shared.local_deadline().saturating_duration_since(Instant::now())
    }

    /// True once the item may belong to somebody else: the server said so, or the deadline has
    /// passed. False for a lease that was completed, released or failed.
    pub fn is_lost(&self) -> bool {
        match self.shared.state.load(Ordering::Relaxed) {
            ACTIVE => self.remaining().is_zero(),
            state => state == LOST,
        }
    }

    /// True once it was completed, released, failed or given back through this handle.
    pub fn is_settled(&self) -> bool {
        self.shared.state.load(Ordering::Acquire) == SETTLED
    }

    /// Whether a call has completed the item through this handle. `Some(true)`: the item is gone, and
    /// this handle has completed it. `Some(false)`: none has, because none was made, executed or true.
    /// `None`: unknown, because a call has got no answer yet, was dropped, or has failed with an
    /// [unknown outcome](crate::Error::outcome_unknown).
    ///
    /// Says after an error of [`complete_many`](crate::WorkQueue::complete_many) or
    /// [`complete_and_lease`](crate::WorkQueue::complete_and_lease) what has become of each lease.
    pub fn completed(&self) -> Option<bool> {
        match self.shared.completed.load(Ordering::Acquire) {
            0 => Some(false),
            completed if completed & COMPLETED != 0 => Some(true),
            _ => None,
        }
    }

    /// Returns when the lease [is lost](Lease::is_lost); never for one that was settled.
    pub async fn lost(&self) {
        loop {
            let deadline = self.shared.local_deadline();
            tokio::select! {
                () = self.shared.left() => {
                    if self.is_lost() { return }
                    // Settled: it cannot be lost any more.
                    std::future::pending::<()>().await;
                }
                () = tokio::time::sleep_until(deadline.into()) => {
                    if self.is_lost() { return }
                }
            }
        }
    }
}

/// When a lease of this duration that was asked for then is over at the earliest: the server counts
/// whole milliseconds, from the one that had begun.
pub(crate) fn local_deadline(asked_at: Instant, duration: Duration) -> Instant {
    asked_at + duration.saturating_sub(Duration::from_millis(1))
}

pub(crate) fn from_ms(ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Generation;

    fn lease() -> Lease {
        let item = LeasedItem {
            token: Token { generation: Generation { count: 1, salt: [0; 5] }, delivery: 0 },
            id: "id".into(),
            data: Bytes::new(),
            priority: 0,
            max_attempts: None,
            failures: 0,
            expiries: 0,
            last_error: String::new(),
            duration_ms: 1_000,
            deadline_ms: 0,
        };
        Lease::new(QueueName::new("q").unwrap(), item, Instant::now())
    }

    #[test]
    fn two_calls_that_complete_one_lease_do_not_answer_for_each_other() {
        let lease = lease();
        assert_eq!(lease.completed(), Some(false));
        let [first, second] = [(); 2].map(|()| Shared::begin_completing(&[&lease]));
        assert_eq!(lease.completed(), None);
        let _ = first.end::<()>(Err(Error::unavailable("not sent", false)));
        assert_eq!(lease.completed(), None, "the other one is on its way");
        let _ = second.end::<()>(Err(Error::unavailable("no answer", true)));
        assert_eq!(lease.completed(), None);
        let third = Shared::begin_completing(&[&lease]);
        lease.shared.completed(false, false);
        let _ = third.end(Ok(()));
        assert_eq!(lease.completed(), None, "it may have been the second");
        lease.shared.completed(true, false);
        assert_eq!(lease.completed(), Some(true));
    }

    #[test]
    fn a_call_that_has_failed_has_completed_nothing() {
        let lease = lease();
        let call = Shared::begin_completing(&[&lease]);
        let _ = call.end::<()>(Err(Error::unavailable("not sent", false)));
        assert_eq!(lease.completed(), Some(false));
    }
}
