//! Operations on the queue as a whole, for operators.

use pyo3::prelude::*;

use crate::answer::Answer;
use crate::convert;
use crate::queue::{Caller, Queue, Reply};

#[pymethods]
impl Queue {
    fn light_clean<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| Ok(Answer::Light(queue.light_clean().await?)))
    }

    fn deep_clean<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| Ok(Answer::Deep(queue.deep_clean().await?)))
    }

    fn check<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| Ok(Answer::Deep(queue.check().await?)))
    }

    fn drop_queue<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>, force: bool) -> Reply<'py> {
        let mut options = leaseq::DropOptions::new();
        options.force = force;
        let drop = async move |queue: leaseq::WorkQueue| {
            Ok(Answer::Flag(queue.drop_queue_with(options).await?))
        };
        self.run(py, bridge, drop)
    }

    fn purge<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        state: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let state = convert::state(state)?;
        self.run(py, bridge, async move |queue| Ok(Answer::Number(queue.purge(state).await?)))
    }
}
