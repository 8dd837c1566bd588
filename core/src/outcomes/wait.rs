//! One call that waits for the end of one item.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use tokio::sync::oneshot::error::TryRecvError;

use super::state::Receivers;
use super::waits::QueueWaits;
use crate::item::Outcome;
use crate::lock::lock;
use crate::{Error, Result};

/// Ends the wait when it is dropped.
pub(crate) struct Wait {
    waits: Arc<QueueWaits>,
    id: Bytes,
    receivers: Receivers,
}

impl Wait {
    pub(super) fn new(waits: &Arc<QueueWaits>, id: &Bytes, receivers: Receivers) -> Wait {
        Wait { waits: waits.clone(), id: id.clone(), receivers }
    }

    /// `None`: the item has not ended by then. Without a time it waits for ever. It asks at least once.
    pub(crate) async fn until(&mut self, until: Option<Instant>) -> Result<Option<Outcome>> {
        let Receivers { asked, outcome, .. } = &mut self.receivers;
        let over = async {
            let Some(until) = until else { return std::future::pending().await };
            if let Some(asked) = asked.take() {
                let _ = asked.await;
            }
            tokio::time::sleep_until(until.into()).await;
        };
        tokio::select! {
            biased;
            // Without its sender, the runtime shuts down.
            ended = outcome => ended.unwrap_or_else(|_| Err(Error::closed())).map(Some),
            () = over => Ok(None),
        }
    }

    /// What is known now; `None`: the item has not ended as far as is known.
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
        lock(&self.waits.state).remove(&self.id, self.receivers.serial);
        self.waits.changed.notify_one();
    }
}
