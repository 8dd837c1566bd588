//! The queue of a run, and who looks at it.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::conformance::testee::{Language, Testee};
use crate::error::Error;

pub(super) const QUEUE: &str = "q";
/// Handlers of a key at the same time.
pub(super) const KEY_LIMIT: usize = 2;

/// A process that adds jobs and looks at the queue, and that nothing breaks.
pub(super) struct Control(Testee);

impl Control {
    pub(super) async fn start(language: &Language, url: &str) -> Result<Control, Error> {
        let control = Control(Testee::start(language, &no_environment()).await?);
        control.ask(json!({ "op": "connect", "url": url })).await?;
        control.ask(json!({ "op": "configure", "change": { "key_limit": KEY_LIMIT } })).await?;
        Ok(control)
    }

    pub(super) async fn ask(&self, mut request: Value) -> Result<Value, Error> {
        request["client"] = "control".into();
        request["queue"] = QUEUE.into();
        let answer = self.0.ask(request.clone()).await?.answer().await?;
        answer.map_err(|failure| format!("{request}: {}", failure.message).into())
    }
}

pub(super) fn no_environment() -> [(&'static str, PathBuf); 0] {
    []
}
