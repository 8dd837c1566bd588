//! A claim on one item until a deadline.

mod shared;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use serde::de::DeserializeOwned;

pub(crate) use self::shared::{Completing, Shared};
use crate::dispatch::Context;
use crate::engine::{LeasedItem, Token};
use crate::item::{Ending, Releases, Trigger, read_json};
use crate::name::QueueName;
use crate::unix_time::from_ms;
use crate::{Result, cancellation};

/// A leased item. Dropping the handle does not give the item back: the lease expires, and the item is
/// delivered again.
#[derive(Debug)]
pub struct Lease {
    pub(crate) queue: QueueName,
    pub(crate) item: LeasedItem,
    pub(crate) shared: Arc<Shared>,
    /// Of its client, which the lease does not keep open.
    context: Weak<Context>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Ends the background extension, if there is one.
        self.shared.drop_handle();
    }
}

impl Lease {
    pub(crate) fn new(
        context: &Arc<Context>,
        queue: QueueName,
        item: LeasedItem,
        asked_at: Instant,
    ) -> Self {
        let local = local_deadline(asked_at, Duration::from_millis(item.duration_ms));
        let shared = Shared::new(item.deadline_ms, local);
        Lease { queue, item, shared, context: Arc::downgrade(context) }
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

    /// The item's [key](crate::Item::key), if it has one.
    pub fn key(&self) -> Option<&[u8]> {
        self.item.added_with.as_ref()?.key.as_deref()
    }

    /// The item whose end has added this one, if this is a follow-up that asked for it. `None`: it is not.
    pub fn trigger(&self) -> Option<&Trigger> {
        self.item.trigger.as_ref()
    }

    /// 0 to 9.
    pub fn priority(&self) -> u8 {
        self.item.priority
    }

    /// The text of the last `fail`; empty if there was none.
    pub fn last_error(&self) -> &str {
        &self.item.last_error
    }

    /// How its last 16 failed or expired leases ended, the oldest first.
    pub fn endings(&self) -> &[Ending] {
        &self.item.history.endings
    }

    /// The releases in a row for one reason, up to now; `None` if there was none.
    pub fn releases(&self) -> Option<&Releases> {
        self.item.history.releases.as_ref()
    }

    /// Generation of the item: one life of its id, from the add to the completion. It goes up with
    /// every add of an id, so it can fence off writers of an earlier generation.
    pub fn generation(&self) -> u64 {
        self.item.token.generation.count
    }

    /// For how long the item was ready before it was leased, in whole milliseconds of the server's clock: since it was
    /// added, revised, requeued or due, or came back because a lease has failed or expired. An item that is released
    /// without a delay goes on waiting. The time in which it was held because of its key counts.
    pub fn waited(&self) -> Duration {
        let item = &self.item;
        let leased_at = from_ms(item.deadline_ms.saturating_sub(item.duration_ms));
        let came_back = item.history.endings.last().map(|ending| ending.at);
        let ready_at = from_ms(item.ready_at_ms).max(came_back.unwrap_or(SystemTime::UNIX_EPOCH));
        leased_at.duration_since(ready_at).unwrap_or_default()
    }

    /// When the lease expires, on the server's clock, as far as this handle knows.
    pub fn deadline(&self) -> SystemTime {
        from_ms(self.shared.deadline_ms())
    }

    /// The time left on the clock of this process. It is never more than on the server's.
    pub fn remaining(&self) -> Duration {
        self.shared.remaining()
    }

    /// True once another worker may have the item: the server said so, or the deadline has passed. False for
    /// a lease that was completed, released or failed.
    pub fn is_lost(&self) -> bool {
        self.shared.is_lost()
    }

    /// True once the lease was completed, released, failed or given back through this handle.
    pub fn is_settled(&self) -> bool {
        self.shared.is_settled()
    }

    /// Whether a call has completed the item through this handle. `Some(true)`: one has, and the item is gone.
    /// `Some(false)`: none has, because no call was made or executed, or all returned false. `None`: unknown,
    /// because a call has no reply yet, was dropped, or has failed with an
    /// [unknown outcome](crate::Error::outcome_unknown).
    ///
    /// After an error of [`complete_many`](crate::WorkQueue::complete_many) or
    /// [`complete_and_lease`](crate::WorkQueue::complete_and_lease), this tells the outcome of each lease.
    pub fn completed(&self) -> Option<bool> {
        self.shared.is_completed()
    }

    /// Gives the lease up as dropping the handle does, for a handle that somebody else still has: it is extended no more,
    /// and expires.
    pub fn let_expire(&self) {
        self.shared.drop_handle();
    }

    /// Returns when the lease [is lost](Lease::is_lost). Never returns for a lease that was settled.
    pub async fn lost(&self) {
        loop {
            let deadline = self.shared.local_deadline();
            tokio::select! {
                () = self.shared.left() => {
                    if self.is_lost() { return }
                    // The lease is settled, and cannot be lost any more.
                    std::future::pending::<()>().await;
                }
                () = tokio::time::sleep_until(deadline.into()) => {
                    if self.is_lost() { return }
                }
            }
        }
    }
}

impl Lease {
    /// Returns true when the client has learned that the [cancellation](crate::WorkQueue::cancel) of the item was
    /// requested: within about 4 s, while the server can be reached. Returns false when that cannot happen any more,
    /// because the lease was settled, dropped or [is lost](Lease::is_lost) or not current any more, or the client is closed.
    /// The future does not keep the lease.
    ///
    /// The lease goes on: its holder may still complete it, or fail or release it, which ends the item as cancelled.
    ///
    /// From the first call of this or [`is_cancelled`](Lease::is_cancelled) on, the client asks the server in the
    /// background: every 2 s once for all such leases of a queue.
    pub fn cancelled(&self) -> impl Future<Output = bool> + Send + use<> {
        self.watch();
        let context = self.context.upgrade().filter(|context| context.is_here());
        let closed = context.map(|context| context.closed.clone());
        let shared = self.shared.clone();
        async move {
            let Some(closed) = closed else { return shared.is_cancelled() };
            loop {
                let changed = shared.changed();
                if shared.is_cancelled() {
                    return true;
                }
                if shared.is_lost() || !shared.is_watched() || closed.is_cancelled() {
                    return false;
                }
                let deadline = shared.local_deadline();
                tokio::select! {
                    () = changed => {}
                    () = closed.cancelled() => {}
                    () = tokio::time::sleep_until(deadline.into()) => {}
                }
            }
        }
    }

    /// Whether the client has learned that the cancellation of the item was requested. The first call of this or
    /// [`cancelled`](Lease::cancelled) returns false at once, and makes the client ask from then on.
    pub fn is_cancelled(&self) -> bool {
        self.watch();
        self.shared.is_cancelled()
    }

    fn watch(&self) {
        if self.shared.begin_watch()
            && let Some(context) = self.context.upgrade()
        {
            cancellation::watch(&context, &self.queue, self.token(), &self.shared);
        }
    }
}

/// The earliest end of a lease of this duration that was requested at this time. The server counts whole
/// milliseconds, from the current one.
pub(crate) fn local_deadline(asked_at: Instant, duration: Duration) -> Instant {
    asked_at + duration.saturating_sub(Duration::from_millis(1))
}
