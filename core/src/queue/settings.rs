//! Settings of the queue, and pausing it.

use super::work_queue::WorkQueue;
use crate::Result;
use crate::engine::RequestId;
use crate::pause::{Pause, PauseOptions};
use crate::settings::{Settings, SettingsChange};

impl WorkQueue {
    /// Changes settings of this queue, which are stored with it and hold for every client from now on. Only what
    /// `change` names changes. Returns the settings after it. `None`: nothing was changed, because the stored revision
    /// is another than the one that the change [expects](SettingsChange::expect_revision).
    ///
    /// A change that changes nothing keeps the revision. Makes the queue if there is none.
    ///
    /// # Errors
    /// `Invalid` for a value outside its limits; else see [`WorkQueue`].
    pub async fn configure(&self, change: SettingsChange) -> Result<Option<Settings>> {
        let change = change.validate()?;
        let (dispatch, change) = (&self.dispatch, &change);
        let until = dispatch.open().await?;
        let (engine, queue) = (&dispatch.context.engine, &dispatch.queue);
        let configure = async |id: &RequestId| engine.configure(queue, change, id).await;
        dispatch.change(dispatch.lanes.run(until, configure)).await
    }

    /// The settings of this queue, and whether it is paused. The defaults if there is no queue.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn settings(&self) -> Result<Settings> {
        let dispatch = &self.dispatch;
        dispatch.look(dispatch.context.engine.settings(&dispatch.queue)).await
    }

    /// Stops leasing from this queue, for every client, until [`resume`](WorkQueue::resume).
    /// Adding, completing and reclaiming continue; calls that lease wait, or get nothing. Makes the queue if there is
    /// none.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn pause(&self) -> Result<()> {
        self.pause_with(PauseOptions::default()).await
    }

    /// As [`pause`](WorkQueue::pause), with options: who pauses and why, which [`settings`](WorkQueue::settings) show; and for
    /// a time, after which leasing goes on by itself, and waiting calls wake. Of several pauses the last one counts, whether it is shorter or longer than those before.
    ///
    /// # Errors
    /// `Invalid` for a duration outside its limits; else see [`WorkQueue`].
    pub async fn pause_with(&self, options: PauseOptions) -> Result<()> {
        self.set_paused(options.validate()?).await
    }

    /// Continues leasing after [`pause`](WorkQueue::pause). Waiting calls wake.
    ///
    /// # Errors
    /// See [`WorkQueue`].
    pub async fn resume(&self) -> Result<()> {
        self.set_paused(Pause::End).await
    }

    async fn set_paused(&self, pause: Pause) -> Result<()> {
        let dispatch = &self.dispatch;
        let until = dispatch.open().await?;
        let (engine, queue) = (&dispatch.context.engine, &dispatch.queue);
        let set = async |id: &RequestId| engine.set_paused(queue, &pause, id).await;
        dispatch.change(dispatch.lanes.run(until, set)).await
    }
}
