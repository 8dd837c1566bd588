//! The history of the queue.

use std::time::{SystemTime, UNIX_EPOCH};

use super::work_queue::WorkQueue;
use crate::Result;
use crate::engine::RequestId;
use crate::history::{HistoryKind, HistoryRow, Measured};
use crate::unix_time::to_ms;

impl WorkQueue {
    /// Writes how the queue is now into the rows of this minute and this hour, unless somebody has done so before, and
    /// adds what the caller has measured since its last report. Whoever works on a queue or watches it calls it once a
    /// minute. False: there is no queue.
    ///
    /// # Errors
    /// See [`WorkQueue`]. After an error with an unknown outcome the measurements may be counted.
    pub async fn record_history(&self, measured: &Measured) -> Result<bool> {
        let dispatch = &self.dispatch;
        let until = dispatch.open().await?;
        let (engine, queue) = (&dispatch.context.engine, &dispatch.queue);
        let record = async |id: &RequestId| engine.record_history(queue, measured, id).await;
        dispatch.change(dispatch.lanes.run(until, record)).await
    }

    /// The history of this queue, the oldest row first: up to 1,440 rows of minutes, or 744 of hours. A minute in which
    /// nobody has [recorded](WorkQueue::record_history) it has no row.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn history(&self, kind: HistoryKind) -> Result<Vec<HistoryRow>> {
        self.history_since(kind, UNIX_EPOCH).await
    }

    /// Like [`history`](WorkQueue::history), from the row of the minute or hour of `since` on. Who keeps what it has
    /// read asks for what has come since the time of its last row. The answer begins with that row, in which more may be
    /// measured now; if it does not, the queue has been dropped or the row is too old, and nothing of before holds.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn history_since(
        &self,
        kind: HistoryKind,
        since: SystemTime,
    ) -> Result<Vec<HistoryRow>> {
        let dispatch = &self.dispatch;
        let engine = &dispatch.context.engine;
        dispatch.look(engine.read_history(&dispatch.queue, kind, to_ms(since))).await
    }
}
