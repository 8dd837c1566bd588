//! The history of a queue.

use napi_derive::napi;

use crate::failure::Failure;
use crate::queue::NativeQueue;
use crate::wire::Outcome;

#[napi]
impl NativeQueue {
    /// `measured`: JSON. Answers with a boolean.
    #[napi]
    pub fn record_history(&self, call: u32, measured: String) {
        self.call(call, Ok(measured), |queue, measured| async move {
            Ok(Outcome::Bool(queue.record_history_json(&measured).await?))
        });
    }

    /// Answers with rows.
    #[napi]
    pub fn history(&self, call: u32, kind: String) {
        self.call(call, Ok(kind), |queue, kind| async move {
            let rows = queue.history_json(&kind).await?;
            serde_json::from_str(&rows).map(Outcome::Json).map_err(Failure::internal)
        });
    }
}
