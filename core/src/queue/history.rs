//! The history of the queue.

use super::work_queue::WorkQueue;
use crate::Result;
use crate::engine::RequestId;
use crate::history::{HistoryKind, HistoryRow, Measured};

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
        let dispatch = &self.dispatch;
        dispatch.look(dispatch.context.engine.read_history(&dispatch.queue, kind)).await
    }
}
