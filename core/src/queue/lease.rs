//! Leasing items, and completing others in the same request.

use std::sync::Arc;

use super::settle::chunks;
use super::work_queue::WorkQueue;
use crate::dispatch::LeaseParams;
use crate::engine::Complete;
use crate::lease::{Completing, Lease, Shared};
use crate::options::{LeaseOptions, MAX_BATCH};
use crate::settle_options::CompleteOptions;
use crate::wanted::Wanted;
use crate::{Error, Result, keep_alive};

impl WorkQueue {
    /// Leases the oldest ready item of the highest priority. `None`: there was none within
    /// [`wait`](LeaseOptions::wait), which is not an error. Without `wait` it waits until there is one.
    /// Dropping the future is safe: a lease that it has obtained is given back at once.
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
        let deadline = self.dispatch.open().await?;
        let count = count.min(MAX_BATCH);
        let params = LeaseParams { count, wanted: None, duration_ms, wait: options.wait, deadline };
        let leases = self.dispatch.lease.lease(params).await?;
        self.keep_alive(&leases, &options);
        Ok(leases)
    }

    /// [`lease_many`](WorkQueue::lease_many) for as many items as `wanted` says when there are some, which can be changed
    /// while the call waits, without a request. If it says 0, nothing is leased: then the call returns an empty list when
    /// there is something that could be leased, and leaves it to other clients that wait. For workers with many
    /// queues: one that is busy remembers that a queue is empty, and hears when it is not any more.
    ///
    /// # Errors
    /// `Invalid` for a duration outside 1 ms to 30 days.
    pub async fn lease_wanted(&self, wanted: &Wanted, options: LeaseOptions) -> Result<Vec<Lease>> {
        let duration_ms = options.validate()?;
        let deadline = self.dispatch.open().await?;
        let (count, wanted) = (wanted.get(), Some(wanted.clone()));
        let params = LeaseParams { count, wanted, duration_ms, wait: options.wait, deadline };
        let leases = self.dispatch.lease.lease(params).await?;
        self.keep_alive(&leases, &options);
        Ok(leases)
    }

    /// Completes items, as [`complete_many`](WorkQueue::complete_many) does, and leases up to `count` others, as
    /// [`lease_many`](WorkQueue::lease_many) does, in one round trip: for a worker that moves from one batch to
    /// the next. Up to 1,000 items, completed and leased, are one atomic step on the engine; more are split.
    /// Completing comes first: the leases are [settled](Lease::is_settled) before this waits for an item. Without
    /// any lease to complete it only leases.
    ///
    /// Dropping the future is safe: leases that it has obtained are given back, and the items that it completes
    /// are completed or not.
    ///
    /// # Errors
    /// As for both; `Invalid` touches nothing. After another error, nothing is leased, and each lease
    /// says by [`Lease::completed`] whether it was completed: true, false, or unknown.
    pub async fn complete_and_lease<'a>(
        &self,
        leases: impl IntoIterator<Item = &'a Lease>,
        count: usize,
        options: LeaseOptions,
    ) -> Result<CompletedAndLeased> {
        self.complete_and_lease_with(leases, CompleteOptions::default(), count, options).await
    }

    /// [`complete_and_lease`](WorkQueue::complete_and_lease) with options for completing. If a strict completion
    /// returns false, its lease is [lost](Lease::is_lost), not settled.
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
        let completes = self.completes(&leases, &complete)?;
        let last = chunks(&completes, Complete::size).pop().map_or(0, |chunk| chunk.start);
        let (before, last) = leases.split_at(last);
        let (completes_before, last_completes) = completes.split_at(before.len());
        let each_says = |error: Error| {
            let any = leases.iter().any(|lease| lease.completed() != Some(false));
            if any { error.after_completing() } else { error }
        };
        let mut completed = self
            .complete_all(before, completes_before, complete.strict)
            .await
            .map_err(each_says)?;
        if last.is_empty() {
            return Ok(CompletedAndLeased {
                completed,
                leases: self.lease_many(count, options).await?,
            });
        }
        let deadline = self.dispatch.open().await.map_err(each_says)?;
        let handles: Vec<Arc<Shared>> = last.iter().map(|lease| lease.shared.clone()).collect();
        let begun = Completing::begin(handles.clone());
        let completes = (last_completes.to_vec(), handles);
        let count = count.min(MAX_BATCH);
        let params = LeaseParams { count, wanted: None, duration_ms, wait: options.wait, deadline };
        let new = match self.dispatch.lease.complete_and_lease(completes, params).await {
            (Some(answers), new) => {
                completed.extend(begun.end(Ok(answers))?);
                new.map_err(each_says)?
            }
            (None, new) => {
                let none = begun.end(new.and(Err(Error::internal("the engine gave no answer"))));
                return none.map_err(each_says);
            }
        };
        self.keep_alive(&new, &options);
        Ok(CompletedAndLeased { completed, leases: new })
    }

    fn keep_alive(&self, leases: &[Lease], options: &LeaseOptions) {
        if let Some(keep) = &options.keep_alive {
            keep_alive::start(&self.dispatch, leases, keep);
        }
    }
}

/// What [`WorkQueue::complete_and_lease`] has done.
#[derive(Debug)]
#[non_exhaustive]
pub struct CompletedAndLeased {
    /// For each lease, in order: whether this call has completed its item.
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
