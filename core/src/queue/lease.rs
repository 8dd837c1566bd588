//! Leasing items, also with completing before it.

use super::WorkQueue;
use super::settle::completes;
use crate::dispatch::{complete_and_lease, lease};
use crate::lease::Lease;
use crate::options::{CompleteOptions, LeaseOptions, MAX_BATCH};
use crate::{Error, Result, keep_alive};

impl WorkQueue {
    /// Leases the oldest ready item of the highest priority. `None`: there was none within
    /// [`wait`](LeaseOptions::wait), which is not an error; without `wait` it waits until there is
    /// one. Dropping the future strands nothing: what was leased for it is given back at once.
    ///
    /// # Errors
    /// `Invalid` for a duration outside 1 ms to 30 days.
    pub async fn lease(&self, options: LeaseOptions) -> Result<Option<Lease>> {
        Ok(self.lease_many(1, options).await?.pop())
    }

    /// Leases up to `count` items: waits for the first, then takes what is there, at most 1,000
    /// and about 16 MiB. Empty: there was none within [`wait`](LeaseOptions::wait).
    ///
    /// # Errors
    /// `Invalid` for a count of 0, or a duration outside 1 ms to 30 days.
    pub async fn lease_many(&self, count: usize, options: LeaseOptions) -> Result<Vec<Lease>> {
        let duration_ms = check(count, &options)?;
        self.dispatch.open().await?;
        let leases = lease(&self.dispatch, count.min(MAX_BATCH), duration_ms, options.wait).await?;
        self.keep_alive(&leases, &options);
        Ok(leases)
    }

    /// Completes items, as [`complete_many`](WorkQueue::complete_many) does, and leases up to `count`
    /// others, as [`lease_many`](WorkQueue::lease_many) does, in one round trip: for a worker on its
    /// way from one batch to the next. Up to 1,000 items completed and leased are one atomic step on
    /// the engine; more are split. Completing comes first, and at once: it is done and the leases are
    /// [settled](Lease::is_settled) before this waits for an item. Without any lease to complete it
    /// only leases.
    ///
    /// Dropping the future strands nothing: what was leased for it is given back, and what it
    /// completes is completed or not.
    ///
    /// # Errors
    /// As for both; `Invalid` touches nothing. After another error, a lease that is settled was
    /// completed by this call (or had been by somebody before) and only the leasing has failed; of
    /// one that is not, the error says whether it may have been. Whoever must know the answers in any
    /// case completes in a call of its own.
    pub async fn complete_and_lease<'a>(
        &self,
        leases: impl IntoIterator<Item = &'a Lease>,
        count: usize,
        options: LeaseOptions,
    ) -> Result<CompletedAndLeased> {
        self.complete_and_lease_with(leases, CompleteOptions::default(), count, options).await
    }

    /// [`complete_and_lease`](WorkQueue::complete_and_lease) with options for completing. One that is
    /// strict and false makes its lease [lost](Lease::is_lost), not settled.
    ///
    /// # Errors
    /// As for [`complete_and_lease`](WorkQueue::complete_and_lease).
    pub async fn complete_and_lease_with<'a>(
        &self,
        leases: impl IntoIterator<Item = &'a Lease>,
        complete: CompleteOptions,
        count: usize,
        options: LeaseOptions,
    ) -> Result<CompletedAndLeased> {
        let duration_ms = check(count, &options)?;
        let leases = self.own(leases)?;
        let last = leases.len().saturating_sub(1) / MAX_BATCH * MAX_BATCH;
        let (before, last) = leases.split_at(last);
        let so_far = |error: Error| {
            let any = leases.iter().any(|lease| lease.is_settled());
            if any { error.after_completing() } else { error }
        };
        let mut completed = self
            .complete_many_with(before.iter().copied(), complete.clone())
            .await
            .map_err(so_far)?;
        if last.is_empty() {
            return Ok(CompletedAndLeased {
                completed,
                leases: self.lease_many(count, options).await?,
            });
        }
        self.dispatch.open().await?;
        let handles = last.iter().map(|lease| lease.shared.clone()).collect();
        let completes = (completes(last, &complete), handles);
        let count = count.min(MAX_BATCH);
        let done = complete_and_lease(&self.dispatch, completes, count, duration_ms, options.wait);
        let (answers, leases) = done.await.map_err(so_far)?;
        self.keep_alive(&leases, &options);
        completed.extend(answers);
        Ok(CompletedAndLeased { completed, leases })
    }

    fn keep_alive(&self, leases: &[Lease], options: &LeaseOptions) {
        if let Some(keep) = &options.keep_alive {
            for lease in leases {
                keep_alive::start(&self.dispatch, lease, keep);
            }
        }
    }
}

/// What [`WorkQueue::complete_and_lease`] has done.
#[derive(Debug)]
#[non_exhaustive]
pub struct CompletedAndLeased {
    /// For each lease, in their order: true if this call has completed its item.
    pub completed: Vec<bool>,
    /// The new leases; none if there was nothing within [`wait`](LeaseOptions::wait).
    pub leases: Vec<Lease>,
}

fn check(count: usize, options: &LeaseOptions) -> Result<u64> {
    let duration_ms = options.validate()?;
    if count == 0 {
        return Err(Error::invalid("a lease of 0 items: the least is 1"));
    }
    Ok(duration_ms)
}
