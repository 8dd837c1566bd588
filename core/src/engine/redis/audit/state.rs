//! The state of an audit, and what its steps have in common.

use std::time::Instant;

use redis::{Cmd, Value};

use super::candidates::Candidates;
use crate::Result;
use crate::clean::DeepReport;
use crate::engine::pause;
use crate::engine::redis::redis_engine::RedisEngine;
use crate::engine::redis::reply;
use crate::engine::redis::scripts::Script;
use crate::name::QueueName;

/// Items that one step looks at: about 1 ms of the server's time.
pub(super) const STEP: usize = 150;

pub(super) struct Audit<'a> {
    pub(super) engine: &'a RedisEngine,
    pub(super) queue: &'a QueueName,
    pub(super) mend: bool,
    /// After each step, the audit pauses for this many times as long as the step took.
    pub(super) pace: u32,
    pub(super) report: DeepReport,
    /// Items that must be ready.
    pub(super) candidates: Candidates,
}

impl Audit<'_> {
    pub(super) async fn step(
        &self,
        script: Script,
        fill: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        let begun = Instant::now();
        let reply = self.engine.query(self.queue, script, fill).await;
        pause(begun, self.pace).await;
        reply
    }
}

/// What a script names, for people.
pub(super) fn shown(value: Value) -> Result<String> {
    Ok(reply::bytes(value)?.escape_ascii().to_string())
}
