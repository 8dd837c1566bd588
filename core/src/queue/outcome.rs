//! Waiting for the ends of items.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::query::checked_ids;
use super::work_queue::{WorkQueue, only};
use crate::engine::Found;
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
    /// which may take as long as the client's time-out.
    ///
    /// # Errors
    /// `Invalid` for an id outside 1 to 512 bytes. `Unavailable` if the first request has failed; later ones are
    /// repeated.
    pub async fn outcome(
        &self,
        id: impl AsRef<[u8]>,
        options: OutcomeOptions,
    ) -> Result<Option<Outcome>> {
        only(self.outcome_many([id], options).await?)
    }

    /// Waits until all of these items have ended, and returns how, in the order of the ids. `None`: this one has not
    /// ended within [`wait`](OutcomeOptions::wait).
    ///
    /// # Errors
    /// As for [`outcome`](WorkQueue::outcome).
    pub async fn outcome_many<T: AsRef<[u8]>>(
        &self,
        ids: impl IntoIterator<Item = T>,
        options: OutcomeOptions,
    ) -> Result<Vec<Option<Outcome>>> {
        let ids = checked_ids(ids)?;
        self.dispatch.open().await?;
        if options.wait == Some(Duration::ZERO) {
            return self.look_at_outcomes(&ids, options.expect).await;
        }
        // A time that is too long for the clock is without a limit.
        let until = options.wait.and_then(|wait| Instant::now().checked_add(wait));
        let dispatch = &self.dispatch;
        let waits = outcomes::begin(&dispatch.context, &dispatch.queue, &ids, options.expect)?;
        let mut outcomes = Vec::with_capacity(ids.len());
        for wait in waits {
            outcomes.push(wait.until(until).await?);
        }
        Ok(outcomes)
    }

    async fn look_at_outcomes(&self, ids: &[Bytes], expect: bool) -> Result<Vec<Option<Outcome>>> {
        let dispatch = &self.dispatch;
        let mut outcomes = Vec::with_capacity(ids.len());
        while outcomes.len() < ids.len() {
            let rest = &ids[outcomes.len()..];
            let step = &rest[..rest.len().min(MAX_BATCH)];
            let engine = &dispatch.context.engine;
            let found = dispatch.look(engine.outcomes(&dispatch.queue, step)).await?.found;
            if found.is_empty() {
                return Err(Error::internal("the engine gave no answer"));
            }
            outcomes.extend(found.into_iter().map(|found| match found {
                Found::Ended(outcome) => Some(outcome),
                Found::Nothing if !expect => Some(Outcome::Gone),
                Found::Nothing | Found::Open => None,
            }));
        }
        Ok(outcomes)
    }
}
