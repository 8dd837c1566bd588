//! One call that waits for the end of one item or group.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot::error::TryRecvError;

use super::state::Receivers;
use super::waits::QueueWaits;
use crate::engine::Subject;
use crate::item::Outcome;
use crate::lock::lock;
use crate::{Error, Result};

/// Ends the wait when it is dropped.
pub(crate) struct Wait {
    waits: Arc<QueueWaits>,
    subject: Subject,
    receivers: Receivers,
    /// When the engine must have been asked.
    asked_by: Instant,
}

impl Wait {
    pub(super) fn new(
        waits: &Arc<QueueWaits>,
        subject: &Subject,
        receivers: Receivers,
        asked_by: Instant,
    ) -> Wait {
        Wait { waits: waits.clone(), subject: subject.clone(), receivers, asked_by }
    }

    /// `None`: the item has not ended by then. Without a time it waits for ever. It asks at least once, unless it cannot
    /// in the time-out of the client.
    pub(crate) async fn until(&mut self, until: Option<Instant>) -> Result<Option<Outcome>> {
        let (asked, asked_by) = (self.receivers.asked.take(), self.asked_by);
        self.unless(async {
            let Some(until) = until else { return std::future::pending().await };
            if let Some(asked) = asked
                && tokio::time::timeout_at(asked_by.max(until).into(), asked).await.is_err()
            {
                return Err(Error::unavailable(
                    "other requests of this client took too long",
                    false,
                ));
            }
            tokio::time::sleep_until(until.into()).await;
            Ok(())
        })
        .await
    }

    /// Waits, unless the time is over before.
    async fn unless(&mut self, over: impl Future<Output = Result<()>>) -> Result<Option<Outcome>> {
        let over = tokio::select! {
            biased;
            // Without its sender, the runtime shuts down.
            ended = &mut self.receivers.outcome => {
                return ended.unwrap_or_else(|_| Err(Error::closed())).map(Some);
            }
            over = over => over,
        };
        // It may have come after it was looked for.
        match self.now()? {
            Some(outcome) => Ok(Some(outcome)),
            None => over.map(|()| None),
        }
    }

    /// What is known now; `None`: it has not ended as far as is known.
    pub(crate) fn now(&mut self) -> Result<Option<Outcome>> {
        match self.receivers.outcome.try_recv() {
            Ok(ended) => ended.map(Some),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Closed) => Err(Error::closed()),
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        lock(&self.waits.state).remove(&self.subject, self.receivers.serial);
        self.waits.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn an_outcome_that_comes_while_the_time_ends_is_not_lost() {
        for over in [Ok(()), Err(Error::unavailable("late", false))] {
            for comes in [true, false] {
                let waits = Arc::new(QueueWaits::new(&Arc::default()));
                let (sender, outcome) = oneshot::channel();
                let receivers = Receivers { serial: 1, asked: None, outcome };
                let mut wait =
                    Wait::new(&waits, &Subject::Item(Bytes::new()), receivers, Instant::now());
                let mut sender = Some(sender);
                // It is looked for first.
                let ended = wait.unless(async {
                    if let Some(sender) = sender.take_if(|_| comes) {
                        let _ = sender.send(Ok(Outcome::Cancelled));
                    }
                    over.clone()
                });
                let (ended, expected) = (ended.await, comes.then_some(Outcome::Cancelled));
                assert_eq!(ended.is_err(), over.is_err() && !comes);
                assert_eq!(ended.unwrap_or_default(), expected);
            }
        }
    }
}
