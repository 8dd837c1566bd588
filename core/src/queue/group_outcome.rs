//! Waiting for the ends of groups.

use std::future::pending;
use std::time::Duration;

use bytes::Bytes;

use super::work_queue::{WorkQueue, only};
use crate::Result;
use crate::engine::Subject;
use crate::group::{GroupInfo, GroupOutcome};
use crate::item::{Outcome, check_id};
use crate::query_options::OutcomeOptions;

impl WorkQueue {
    /// Waits until a group of this queue has ended, and returns how. `None`: it has not ended within
    /// [`wait`](OutcomeOptions::wait). Without a group of this id the outcome is [`Gone`](GroupOutcome::Gone), unless the options
    /// [expect](OutcomeOptions::expect) one. A group that nobody seals never ends; a wait for it ends when the group goes.
    ///
    /// It is about the id, as [`outcome`](WorkQueue::outcome) is, and shares its connections and requests: any number of
    /// waits for items and groups of a queue ask as often as one. Dropping the future is safe.
    ///
    /// # Errors
    /// `Invalid` for an id outside 1 to 512 bytes. `Unavailable` if the first request has failed, or could not be made
    /// in the time-out, or how the group has ended could not be read; other requests are repeated.
    pub async fn group_outcome(
        &self,
        id: impl AsRef<[u8]>,
        options: OutcomeOptions,
    ) -> Result<Option<GroupOutcome>> {
        self.group_outcome_until(id, options, pending()).await
    }

    /// [`group_outcome`](WorkQueue::group_outcome) that also ends, as if its time were over, when `end` does: for faces in
    /// other languages.
    ///
    /// # Errors
    /// As for [`group_outcome`](WorkQueue::group_outcome).
    pub async fn group_outcome_until(
        &self,
        id: impl AsRef<[u8]>,
        options: OutcomeOptions,
        end: impl Future<Output = ()>,
    ) -> Result<Option<GroupOutcome>> {
        let id = Bytes::copy_from_slice(id.as_ref());
        check_id(&id)?;
        if options.wait == Some(Duration::ZERO) {
            return Ok(match self.group(&id).await? {
                Some(info) => info.outcome(),
                None => (!options.expect).then_some(GroupOutcome::Gone),
            });
        }
        let subject = Subject::Group(id.clone());
        match only(self.wait_for(&[subject], &options, end).await?)?? {
            None => Ok(None),
            Some(Outcome::Gone) => Ok(Some(GroupOutcome::Gone)),
            // It was removed after its end, if it is not there or was created again.
            Some(_) => {
                let ended = self.group(&id).await?.and_then(GroupInfo::outcome);
                Ok(Some(ended.unwrap_or(GroupOutcome::Gone)))
            }
        }
    }
}
