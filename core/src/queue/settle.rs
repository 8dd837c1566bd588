//! Completing, extending, releasing and failing leases.

use std::ops::Range;
use std::time::{Duration, Instant, SystemTime};

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::work_queue::{WorkQueue, only};
use crate::engine::{Complete, Extend, Fail, Release};
use crate::item::State;
use crate::lease::{Completing, Lease, local_deadline};
use crate::options::{MAX_BATCH, MAX_BATCH_BYTES, MAX_ERROR_TEXT, check_lease};
use crate::settle_options::{CompleteOptions, FailOptions, ReleaseOptions};
use crate::unix_time::from_ms;
use crate::{Error, Result};

/// See [`WorkQueue::hold`].
#[derive(Debug)]
pub struct Hold {
    _token: TaskTrackerToken,
}

impl WorkQueue {
    /// Completes the item, which is then gone, or [retained](crate::Item::retain). True for exactly one caller in a
    /// generation. A holder whose lease has expired may still be that caller, whatever the item's state is by then; a
    /// worker that has leased it meanwhile gets false.
    ///
    /// # Errors
    /// `Invalid` for a lease of another queue.
    pub async fn complete(&self, lease: &Lease) -> Result<bool> {
        self.complete_with(lease, CompleteOptions::default()).await
    }

    /// [`complete`](WorkQueue::complete) with options.
    ///
    /// # Errors
    /// As for [`complete`](WorkQueue::complete).
    pub async fn complete_with(&self, lease: &Lease, options: CompleteOptions) -> Result<bool> {
        only(self.complete_many_with([lease], options).await?)
    }

    /// Completes many items; the answers are in their order. After an error, [`Lease::completed`] tells for each
    /// lease whether it was completed.
    ///
    /// # Errors
    /// As for [`complete`](WorkQueue::complete).
    pub async fn complete_many<'a>(
        &self,
        leases: impl IntoIterator<Item = &'a Lease>,
    ) -> Result<Vec<bool>> {
        self.complete_many_with(leases, CompleteOptions::default()).await
    }

    /// [`complete_many`](WorkQueue::complete_many) with options.
    ///
    /// # Errors
    /// As for [`complete`](WorkQueue::complete).
    pub async fn complete_many_with<'a>(
        &self,
        leases: impl IntoIterator<Item = &'a Lease>,
        options: CompleteOptions,
    ) -> Result<Vec<bool>> {
        let leases = self.own(leases)?;
        let completes = self.completes(&leases, &options)?;
        self.complete_all(&leases, &completes, options.strict).await
    }

    /// Completes in chunks, each of which is one atomic step.
    pub(super) async fn complete_all(
        &self,
        leases: &[&Lease],
        completes: &[Complete],
        strict: bool,
    ) -> Result<Vec<bool>> {
        let mut until = self.dispatch.open().await?;
        let mut completed = Vec::with_capacity(leases.len());
        for chunk in chunks(completes, Complete::size) {
            let (leases, completes) = (&leases[chunk.clone()], completes[chunk].to_vec());
            let begun = Completing::begin(leases.iter().map(|lease| lease.shared.clone()));
            let answers = begun.end(self.dispatch.complete.call(completes, until).await)?;
            for (lease, done) in leases.iter().zip(&answers) {
                lease.shared.completed(*done, strict);
            }
            completed.extend(answers);
            until = self.dispatch.context.until();
        }
        Ok(completed)
    }

    /// Extends the lease: its deadline becomes the later of the old one and now + `duration`, on
    /// the server's clock. Returns the deadline. Works after the deadline too, as long as nobody
    /// has reclaimed the item.
    ///
    /// # Errors
    /// `LeaseLost`; `Invalid` for a duration outside 1 ms to 30 days or a lease of another queue.
    pub async fn extend(&self, lease: &Lease, duration: Duration) -> Result<SystemTime> {
        only(self.extend_many([lease], duration).await?)?
    }

    /// Extends many leases; the answers are in their order.
    ///
    /// # Errors
    /// As for [`extend`](WorkQueue::extend); `LeaseLost` for each lease by itself.
    pub async fn extend_many<'a>(
        &self,
        leases: impl IntoIterator<Item = &'a Lease>,
        duration: Duration,
    ) -> Result<Vec<Result<SystemTime>>> {
        let duration_ms = check_lease(duration)?;
        let leases = self.own(leases)?;
        let mut until = self.dispatch.open().await?;
        let mut extended = Vec::with_capacity(leases.len());
        for chunk in leases.chunks(MAX_BATCH) {
            let asked = Instant::now();
            let call = chunk.iter().map(|lease| Extend { token: lease.token(), duration_ms });
            let answers = self.dispatch.extend.call(call.collect(), until).await?;
            until = self.dispatch.context.until();
            extended.extend(chunk.iter().zip(answers).map(|(lease, answer)| match answer {
                Some(deadline_ms) => {
                    lease.shared.extended(deadline_ms, local_deadline(asked, duration));
                    Ok(from_ms(deadline_ms))
                }
                None => Err(lost(lease)),
            }));
        }
        Ok(extended)
    }

    /// Gives the item back without counting an attempt: to the front of its priority, at once or
    /// when the delay ends.
    ///
    /// # Errors
    /// `LeaseLost`; `Invalid` for a delay over 366 days or a lease of another queue.
    pub async fn release(&self, lease: &Lease, delay: Duration) -> Result<()> {
        self.release_with(lease, ReleaseOptions::new().delay(delay)).await
    }

    /// [`release`](WorkQueue::release) with options.
    ///
    /// # Errors
    /// As for [`release`](WorkQueue::release); `Invalid` for a reason over 128 bytes.
    pub async fn release_with(&self, lease: &Lease, options: ReleaseOptions) -> Result<()> {
        only(self.release_many_with([lease], options).await?)?
    }

    /// Gives many items back; the answers are in their order.
    ///
    /// # Errors
    /// As for [`release`](WorkQueue::release); `LeaseLost` for each lease by itself.
    pub async fn release_many<'a>(
        &self,
        leases: impl IntoIterator<Item = &'a Lease>,
        delay: Duration,
    ) -> Result<Vec<Result<()>>> {
        self.release_many_with(leases, ReleaseOptions::new().delay(delay)).await
    }

    /// [`release_many`](WorkQueue::release_many) with options.
    ///
    /// # Errors
    /// As for [`release_with`](WorkQueue::release_with); `LeaseLost` for each lease by itself.
    pub async fn release_many_with<'a>(
        &self,
        leases: impl IntoIterator<Item = &'a Lease>,
        options: ReleaseOptions,
    ) -> Result<Vec<Result<()>>> {
        let delay_ms = options.validate()?;
        let leases = self.own(leases)?;
        let mut until = self.dispatch.open().await?;
        let mut released = Vec::with_capacity(leases.len());
        for chunk in leases.chunks(MAX_BATCH) {
            let call = chunk.iter().map(|lease| Release {
                token: lease.token(),
                id: lease.item.id.clone(),
                delay_ms,
                reason: (!options.unseen).then(|| options.reason.clone()),
            });
            let release = self.dispatch.release.call(call.collect(), until);
            let answers = self.after_progress(chunk, until, release).await?;
            until = self.dispatch.context.until();
            released.extend(chunk.iter().zip(answers).map(|(lease, given_back)| {
                if !given_back {
                    return Err(lost(lease));
                }
                lease.shared.settle();
                Ok(())
            }));
        }
        Ok(released)
    }

    /// Gives back, in the background, leases that reached no caller, for bindings whose caller is gone when the
    /// reply arrives. Returns at once, and [`close`](crate::Client::close) waits for it. Ignores leases of other
    /// queues.
    pub fn give_back<'a>(&self, leases: impl IntoIterator<Item = &'a Lease>) {
        let leases = leases.into_iter().filter(|lease| lease.queue == self.dispatch.queue);
        let tokens = leases.map(|lease| {
            lease.shared.settle();
            lease.token()
        });
        self.dispatch.give_back(tokens.collect());
    }

    /// Lets [`close`](crate::Client::close) wait until this is dropped, for the client's time-out at most, so that
    /// leases can still be given back.
    pub fn hold(&self) -> Hold {
        Hold { _token: self.dispatch.context.tasks.token() }
    }

    /// Counts a failure of the item: it goes to the back of its priority, at once or when the
    /// delay ends, or is dead when its limit of attempts is reached. Returns the state it is in
    /// now. The error text is kept with the item, its first 1,024 bytes.
    ///
    /// # Errors
    /// `LeaseLost`; `Invalid` for a delay over 366 days or a lease of another queue.
    pub async fn fail(&self, lease: &Lease, error: &str, delay: Duration) -> Result<State> {
        self.fail_with(lease, error, FailOptions::new().delay(delay)).await
    }

    /// [`fail`](WorkQueue::fail) with options.
    ///
    /// # Errors
    /// As for [`fail`](WorkQueue::fail); `Invalid` for a delay of an item that is to be dead.
    pub async fn fail_with(
        &self,
        lease: &Lease,
        error: &str,
        options: FailOptions,
    ) -> Result<State> {
        only(self.fail_many_with([(lease, error)], options).await?)?
    }

    /// Counts failures of many items; the answers are in their order.
    ///
    /// # Errors
    /// As for [`fail`](WorkQueue::fail); `LeaseLost` for each lease by itself.
    pub async fn fail_many<'a>(
        &self,
        failures: impl IntoIterator<Item = (&'a Lease, &'a str)>,
        delay: Duration,
    ) -> Result<Vec<Result<State>>> {
        self.fail_many_with(failures, FailOptions::new().delay(delay)).await
    }

    /// [`fail_many`](WorkQueue::fail_many) with options.
    ///
    /// # Errors
    /// As for [`fail_with`](WorkQueue::fail_with); `LeaseLost` for each lease by itself.
    pub async fn fail_many_with<'a>(
        &self,
        failures: impl IntoIterator<Item = (&'a Lease, &'a str)>,
        options: FailOptions,
    ) -> Result<Vec<Result<State>>> {
        let (leases, errors): (Vec<&Lease>, Vec<&str>) = failures.into_iter().unzip();
        let delay_ms =
            options.validate(&self.dispatch.queue, leases.len(), self.dispatch.context.max_data)?;
        let leases = self.own(leases)?;
        let mut adds = options.adds.iter().map(|items| items.clone().into());
        let mut until = self.dispatch.open().await?;
        let mut failed = Vec::with_capacity(leases.len());
        let fails = leases.iter().zip(errors).map(|(lease, error)| Fail {
            token: lease.token(),
            id: lease.item.id.clone(),
            delay_ms,
            dead: options.dead,
            add: adds.next().unwrap_or_default(),
            error: cut(error, MAX_ERROR_TEXT).to_owned(),
        });
        let fails: Vec<Fail> = fails.collect();
        for chunk in chunks(&fails, Fail::sent) {
            let (chunk, call) = (&leases[chunk.clone()], fails[chunk].to_vec());
            let fail = self.dispatch.fail.call(call, until);
            let answers = self.after_progress(chunk, until, fail).await?;
            until = self.dispatch.context.until();
            failed.extend(chunk.iter().zip(answers).map(|(lease, state)| {
                let state = state.ok_or_else(|| lost(lease))?;
                lease.shared.settle();
                Ok(state)
            }));
        }
        Ok(failed)
    }

    /// What completes the leases.
    pub(super) fn completes(
        &self,
        leases: &[&Lease],
        options: &CompleteOptions,
    ) -> Result<Vec<Complete>> {
        let retain_ms =
            options.validate(&self.dispatch.queue, leases.len(), self.dispatch.context.max_data)?;
        let mut results = options.results.iter().cloned();
        let mut adds = options.adds.iter().map(|items| items.clone().into());
        let complete = |lease: &&Lease| Complete {
            token: lease.token(),
            id: lease.item.id.clone(),
            strict: options.strict,
            added_with: lease.item.added_with.clone(),
            retain_ms,
            result: results.next().flatten(),
            add: adds.next().unwrap_or_default(),
            data_len: lease.item.data.len(),
        };
        Ok(leases.iter().map(complete).collect())
    }

    /// The leases as a list, if all of them are of this queue.
    pub(super) fn own<'a>(
        &self,
        leases: impl IntoIterator<Item = &'a Lease>,
    ) -> Result<Vec<&'a Lease>> {
        let leases: Vec<&Lease> = leases.into_iter().collect();
        match leases.iter().find(|lease| lease.queue != self.dispatch.queue) {
            Some(lease) => Err(Error::invalid(format_args!(
                "a lease of queue {} was given to queue {}",
                lease.queue, self.dispatch.queue
            ))),
            None => Ok(leases),
        }
    }
}

/// Splits a batch into requests, by the sizes of what they send and may copy.
pub(super) fn chunks<T>(batch: &[T], size: impl Fn(&T) -> usize) -> Vec<Range<usize>> {
    let (mut chunks, mut from, mut bytes) = (Vec::new(), 0, 0);
    for (i, one) in batch.iter().enumerate() {
        if i > from && (i - from == MAX_BATCH || bytes + size(one) > MAX_BATCH_BYTES) {
            chunks.push(from..i);
            (from, bytes) = (i, 0);
        }
        bytes += size(one);
    }
    if from < batch.len() {
        chunks.push(from..batch.len());
    }
    chunks
}

pub(super) fn lost(lease: &Lease) -> Error {
    lease.shared.lose();
    Error::lease_lost(lease.queue.as_str(), &lease.item.id)
}

/// The first `most` bytes of the text, or a few less, so that no character is cut.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
