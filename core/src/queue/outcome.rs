//! Waiting for the ends of items.

use std::future::pending;
use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::query::checked_ids;
use super::work_queue::{WorkQueue, only};
use crate::engine::{Found, Subject};
use crate::item::Outcome;
use crate::options::MAX_BATCH;
use crate::outcomes;
use crate::query_options::OutcomeOptions;
use crate::{Error, Result};

impl WorkQueue {
    /// Waits until an item has ended, and returns how: with its result if it is [retained](crate::Item::retain), with
    /// its last error if it is dead. `None`: it has not ended within [`wait`](OutcomeOptions::wait). Without an item of
    /// this id the outcome is [`Gone`](Outcome::Gone), unless the options [expect](OutcomeOptions::expect) one.
    ///
    /// It is about the id. If the item ends and is added again before the client has learned of it, the answer may be
    /// about the later item. If a notification is lost, and the item is not retained, the outcome is `Gone`.
    ///
    /// Any number of waits share two connections. Dropping the future is safe. Whatever the wait, it asks at least once,
    /// for which it has the client's time-out.
    ///
    /// # Errors
    /// `Invalid` for an id outside 1 to 512 bytes. `Unavailable` if the first request has failed, or could not be made
    /// in the time-out; later ones are repeated.
    pub async fn outcome(
        &self,
        id: impl AsRef<[u8]>,
        options: OutcomeOptions,
    ) -> Result<Option<Outcome>> {
        only(self.outcome_many([id], options).await?)?
    }

    /// Waits until all of these items have ended, and returns how, in the order of the ids. `None`: this one has not
    /// ended within [`wait`](OutcomeOptions::wait).
    ///
    /// # Errors
    /// As for [`outcome`](WorkQueue::outcome): an invalid id is an error of the call. `Unavailable` is one of the ids in
    /// the request that has failed, of up to 1,000, so that no outcome of another is lost; of the call if there is an
    /// error for every id.
    pub async fn outcome_many<T: AsRef<[u8]>>(
        &self,
        ids: impl IntoIterator<Item = T>,
        options: OutcomeOptions,
    ) -> Result<Vec<Result<Option<Outcome>>>> {
        self.outcome_many_until(ids, options, pending()).await
    }

    /// [`outcome_many`](WorkQueue::outcome_many) that also ends, as if its time were over, when `end` does: for faces in
    /// other languages.
    ///
    /// # Errors
    /// As for [`outcome_many`](WorkQueue::outcome_many).
    pub async fn outcome_many_until<T: AsRef<[u8]>>(
        &self,
        ids: impl IntoIterator<Item = T>,
        options: OutcomeOptions,
        end: impl Future<Output = ()>,
    ) -> Result<Vec<Result<Option<Outcome>>>> {
        let ids = checked_ids(ids)?;
        if options.wait == Some(Duration::ZERO) {
            self.dispatch.open().await?;
            return all_or_each(self.look_at_outcomes(&ids, options.expect).await);
        }
        let subjects: Vec<Subject> = ids.into_iter().map(Subject::Item).collect();
        all_or_each(self.wait_for(&subjects, &options, end).await?)
    }

    /// Waits for each of them, until the time of the options is over or `end` ends.
    pub(super) async fn wait_for(
        &self,
        subjects: &[Subject],
        options: &OutcomeOptions,
        end: impl Future<Output = ()>,
    ) -> Result<Vec<Result<Option<Outcome>>>> {
        let dispatch = &self.dispatch;
        dispatch.open().await?;
        // A time that is too long for the clock is without a limit.
        let until = options.wait.and_then(|wait| Instant::now().checked_add(wait));
        let waits = outcomes::begin(&dispatch.context, &dispatch.queue, subjects, options.expect)?;
        let mut outcomes = Vec::with_capacity(subjects.len());
        let (mut end, mut has_ended) = (pin!(end), false);
        for mut wait in waits {
            if !has_ended {
                tokio::select! {
                    biased;
                    outcome = wait.until(until) => {
                        outcomes.push(outcome);
                        continue;
                    }
                    () = &mut end => has_ended = true,
                }
            }
            outcomes.push(wait.now());
        }
        Ok(outcomes)
    }

    async fn look_at_outcomes(&self, ids: &[Bytes], expect: bool) -> Vec<Result<Option<Outcome>>> {
        let dispatch = &self.dispatch;
        let mut outcomes = Vec::with_capacity(ids.len());
        while outcomes.len() < ids.len() {
            let rest = &ids[outcomes.len()..];
            let step = &rest[..rest.len().min(MAX_BATCH)];
            let engine = &dispatch.context.engine;
            let found = match dispatch.look(engine.outcomes(&dispatch.queue, step)).await {
                Ok(answer) if !answer.found.is_empty() => answer.found,
                failed => {
                    let error = failed.err();
                    let error =
                        error.unwrap_or_else(|| Error::internal("the engine gave no answer"));
                    outcomes.resize(ids.len(), Err(error));
                    break;
                }
            };
            outcomes.extend(found.into_iter().map(|found| match found {
                Found::Ended(outcome) => Ok(Some(outcome)),
                Found::Nothing if !expect => Ok(Some(Outcome::Gone)),
                Found::Nothing | Found::Open => Ok(None),
            }));
        }
        outcomes
    }
}

/// The error if there is one for every id.
fn all_or_each(outcomes: Vec<Result<Option<Outcome>>>) -> Result<Vec<Result<Option<Outcome>>>> {
    match outcomes.first() {
        Some(Err(error)) if outcomes.iter().all(Result::is_err) => Err(error.clone()),
        _ => Ok(outcomes),
    }
}
