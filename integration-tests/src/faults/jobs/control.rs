//! The queue of a run, and who looks at it.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::conformance::testee::{Language, Testee};
use crate::error::Error;

pub(in crate::faults) const QUEUE: &str = "q";
/// Handlers of a key at the same time.
pub(super) const KEY_LIMIT: usize = 2;

/// A process that looks at the queue and changes it, and that nothing breaks.
pub(in crate::faults) struct Control(Testee);

impl Control {
    pub(in crate::faults) async fn start(language: &Language, url: &str) -> Result<Control, Error> {
        let control = Control(Testee::start(language, &no_environment()).await?);
        control.ask(json!({ "op": "connect", "url": url })).await?;
        Ok(control)
    }

    pub(in crate::faults) async fn ask(&self, mut request: Value) -> Result<Value, Error> {
        request["client"] = "control".into();
        request["queue"] = QUEUE.into();
        let answer = self.0.ask(request.clone()).await?.answer().await?;
        answer.map_err(|failure| format!("{request}: {}", failure.message).into())
    }
}

pub(super) fn no_environment() -> [(&'static str, PathBuf); 0] {
    []
}
