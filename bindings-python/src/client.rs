//! A client, and how it is opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use leaseq::{ConnectOptions, blocking};
use pyo3::prelude::*;

use crate::answer::Answer;
use crate::call::{call, call_that_waits};
use crate::convert;
use crate::error::exception;
use crate::port::Port;
use crate::queue::Queue;

#[pyclass(frozen, weakref, module = "leaseq._leaseq")]
pub(crate) struct Client(Arc<blocking::Client>);

impl Client {
    pub(crate) fn new(client: Arc<blocking::Client>) -> Self {
        Client(client)
    }
}

#[pyfunction]
#[pyo3(signature = (port, url, namespace, timeout, connect_timeout, max_data, ca_file))]
#[expect(clippy::too_many_arguments, reason = "keywords where users see them")]
pub(crate) fn connect<'py>(
    py: Python<'py>,
    port: Option<&Bound<'py, Port>>,
    url: Option<String>,
    namespace: Option<String>,
    timeout: Option<&Bound<'py, PyAny>>,
    connect_timeout: Option<&Bound<'py, PyAny>>,
    max_data: Option<&Bound<'py, PyAny>>,
    ca_file: Option<PathBuf>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut options = ConnectOptions::default();
    if let Some(namespace) = namespace {
        options.namespace = namespace;
    }
    if let Some(timeout) = timeout {
        options.timeout = convert::duration("a timeout", timeout)?;
    }
    if let Some(timeout) = connect_timeout {
        options.connect_timeout = convert::duration("a connect timeout", timeout)?;
    }
    if let Some(max_data) = max_data {
        let most = leaseq::options::MAX_MAX_DATA as u32;
        options.max_data = convert::number("max_data", max_data, 1, most)? as usize;
    }
    options.ca_file = ca_file;
    call_that_waits(py, port, async move {
        Ok(Answer::Client(blocking::Client::connect(url.as_deref(), options).await?))
    })
}

#[pymethods]
impl Client {
    fn queue(&self, py: Python<'_>, name: &str) -> PyResult<Queue> {
        let queue = self.0.queue(name).map_err(|error| exception(py, &error))?;
        Ok(Queue::new(Arc::new(queue)))
    }

    fn queues<'py>(
        &self,
        py: Python<'py>,
        port: Option<&Bound<'py, Port>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        call(py, port, async move { Ok(Answer::Names(client.here().await?.queues().await?)) })
    }

    #[pyo3(signature = (port, within=None))]
    fn close<'py>(
        &self,
        py: Python<'py>,
        port: Option<&Bound<'py, Port>>,
        within: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        let within = within.and_then(|within| Duration::try_from_secs_f64(within).ok());
        call(py, port, async move {
            match within {
                // What is not done by then is not waited for.
                Some(within) => drop(tokio::time::timeout(within, client.close()).await),
                None => client.close().await,
            }
            Ok(Answer::Nothing)
        })
    }
}
