//! How the holder of a lease learns that the cancellation of its item was requested.

use pyo3::prelude::*;

use crate::answer::Answer;
use crate::call::waiting_call;
use crate::convert;
use crate::lease::Lease;
use crate::queue::{Caller, Reply};

#[pymethods]
impl Lease {
    /// Whether the client has learned that the cancellation of the item was requested. From the first
    /// call on it asks.
    fn _is_cancelled(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.in_this_process(py)?.is_cancelled())
    }

    /// Waits until the client learns that. False: not within the timeout, or it cannot happen any more.
    #[pyo3(signature = (bridge, timeout))]
    fn _wait_cancelled<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        timeout: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        self.in_this_process(py)?;
        let timeout = timeout.map(|timeout| convert::duration("a timeout", timeout)).transpose()?;
        let handle = self.handle().clone();
        waiting_call(py, bridge, async move {
            let told = handle.in_this_process()?.cancelled();
            Ok(Answer::Flag(match timeout {
                None => told.await,
                Some(timeout) => tokio::time::timeout(timeout, told).await.unwrap_or(false),
            }))
        })
    }
}
