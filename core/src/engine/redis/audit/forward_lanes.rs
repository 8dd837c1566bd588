//! Deleting the lanes of queues that are gone, and will send nothing any more.

use redis::{Value, cmd};

use super::state::{Audit, STEP};
use crate::Result;
use crate::engine::redis::reply;
use crate::engine::redis::scripts::Script;
use crate::name::QueueName;

impl Audit<'_> {
    /// Deletes each lane that was not used for an hour, and whose queue has another incarnation by now, or none
    /// (`SWEEP_GONE`). A drop deletes the outbox with the incarnation.
    pub(super) async fn sweep_lanes(&mut self) -> Result<()> {
        let mut cursor = String::from("0");
        loop {
            let reply = self.step(Script::ForwardLanes, |command| {
                command.arg(&cursor).arg(STEP);
            });
            let [next, idle] = reply::array(reply.await?)?;
            let mut idle = reply::list(idle)?.into_iter();
            while let (Some(lane), Some(found)) = (idle.next(), idle.next()) {
                let (lane, found) = (reply::bytes(lane)?, reply::bytes(found)?);
                if self.is_gone(&lane).await? {
                    let reply = self.step(Script::SweepLane, |command| {
                        command.arg(&*lane).arg(&*found);
                    });
                    self.report.idle_lanes += u64::from(reply.await? == Value::Int(1));
                }
            }
            cursor = reply::text(next)?;
            if cursor == "0" {
                return Ok(());
            }
        }
    }

    /// `lane`: name and incarnation of a queue. False if the user may not know.
    async fn is_gone(&self, lane: &[u8]) -> Result<bool> {
        let lane = std::str::from_utf8(lane).ok().and_then(|lane| lane.split_once(' '));
        let Some((name, incarnation)) = lane else { return Ok(true) };
        let Ok(source) = QueueName::new(name) else { return Ok(true) };
        let mut command = cmd("HGET");
        command.arg(self.engine.context.keys(&source).meta()).arg("incarnation");
        match self.engine.context.command(&source, command).await {
            Ok(now) => Ok(reply::bytes(now)? != incarnation),
            Err(error) => {
                tracing::debug!(queue = %self.queue, %source, %error, "its lane is kept");
                Ok(false)
            }
        }
    }
}
