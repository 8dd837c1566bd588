//! The events of a queue.

use leaseq::EventsOptions;
use leaseq::options::MAX_EVENTS_PAGE;
use pyo3::prelude::*;

use crate::answer::Answer;
use crate::call::waiting_call;
use crate::convert;
use crate::queue::{Caller, Queue, Reply};

#[pymethods]
impl Queue {
    /// Answers with JSON.
    fn events<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        after: Option<String>,
        limit: &Bound<'py, PyAny>,
        wait: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let limit = convert::number("a limit", limit, 1, MAX_EVENTS_PAGE as u32)? as usize;
        let wait = convert::duration("a wait", wait)?;
        let options = EventsOptions::new().limit(limit).wait(wait);
        let queue = self.core().clone();
        waiting_call(py, bridge, async move {
            let queue = queue.in_this_process().await?;
            Ok(Answer::Text(queue.events_json(after.as_deref(), options).await?))
        })
    }
}
