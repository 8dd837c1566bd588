//! The history of a queue.

use pyo3::prelude::*;

use crate::answer::Answer;
use crate::queue::{Caller, Queue, Reply};

#[pymethods]
impl Queue {
    /// `measured`: JSON.
    fn record_history<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        measured: String,
    ) -> Reply<'py> {
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Flag(queue.record_history_json(&measured).await?))
        })
    }

    /// Answers with JSON.
    fn history<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>, kind: String) -> Reply<'py> {
        self.run(py, bridge, async move |queue| Ok(Answer::Text(queue.history_json(&kind).await?)))
    }
}
