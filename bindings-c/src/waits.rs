//! Waits that can be cancelled.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leaseq::blocking::PerProcess;
use leaseq::{GroupOutcome, Lease, LeaseOptions, Outcome, OutcomeOptions, Result, WorkQueue};
use tokio::sync::Notify;

/// Cancels the waiting calls of one client.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    cancelled: AtomicBool,
    bell: PerProcess<Notify>,
}

impl Waits {
    /// Ends current and future waits.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        if let Some(bell) = self.bell() {
            bell.notify_waiters();
        }
    }

    pub(crate) fn allow(&self) {
        self.cancelled.store(false, Ordering::SeqCst);
    }

    fn bell(&self) -> Option<&Notify> {
        self.bell.get().or_else(|| self.bell.set(Notify::new()).0)
    }

    /// Leases; a cancelled wait ends as if its time were over.
    pub(crate) async fn lease(
        &self,
        queue: &WorkQueue,
        count: usize,
        options: LeaseOptions,
    ) -> Result<Vec<Lease>> {
        let Some(bell) = self.bell() else { return queue.lease_many(count, options).await };
        let mut rung = pin!(bell.notified());
        // Registered before the flag is read, so that a cancellation between the two is noticed.
        rung.as_mut().enable();
        if self.cancelled.load(Ordering::SeqCst) {
            return queue.lease_many(count, options.wait(Duration::ZERO)).await;
        }
        tokio::select! {
            biased;
            leases = queue.lease_many(count, options) => leases,
            // The core releases leases of the dropped call.
            () = rung => Ok(Vec::new()),
        }
    }

    /// Waits for the ends of items; what is known when the wait is cancelled is not lost.
    pub(crate) async fn outcome_many(
        &self,
        queue: &WorkQueue,
        ids: &[Vec<u8>],
        options: OutcomeOptions,
    ) -> Result<Vec<Result<Option<Outcome>>>> {
        let Some(bell) = self.bell() else { return queue.outcome_many(ids, options).await };
        let mut rung = pin!(bell.notified());
        rung.as_mut().enable();
        if self.cancelled.load(Ordering::SeqCst) {
            return queue.outcome_many(ids, options.wait(Duration::ZERO)).await;
        }
        queue.outcome_many_until(ids, options, rung).await
    }

    /// The same for a group.
    pub(crate) async fn group_outcome(
        &self,
        queue: &WorkQueue,
        id: &[u8],
        options: OutcomeOptions,
    ) -> Result<Option<GroupOutcome>> {
        let Some(bell) = self.bell() else { return queue.group_outcome(id, options).await };
        let mut rung = pin!(bell.notified());
        rung.as_mut().enable();
        if self.cancelled.load(Ordering::SeqCst) {
            return queue.group_outcome(id, options.wait(Duration::ZERO)).await;
        }
        queue.group_outcome_until(id, options, rung).await
    }
}
