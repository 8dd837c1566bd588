//! Opening, using and closing a client.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use leaseq::options::MAX_REPLICAS;
use leaseq::{ConnectOptions, blocking};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::answer::Answer;
use crate::call::{call, waiting_call};
use crate::convert;
use crate::error::exception;
use crate::loop_bridge::LoopBridge;
use crate::queue::Queue;
use crate::test_clock::TestClock;
use crate::unused;

/// The clients that this process opened or inherited. A queue keeps its client open after the program has
/// dropped it. Only locked while the GIL is held, as in [`unused`].
static CLIENTS: Mutex<Vec<Weak<blocking::Client>>> = Mutex::new(Vec::new());

#[pyclass(frozen, module = "leaseq._leaseq")]
pub(crate) struct Client(Arc<blocking::Client>);

impl Client {
    pub(crate) fn new(client: Arc<blocking::Client>) -> Self {
        let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|client| client.strong_count() > 0);
        clients.push(Arc::downgrade(&client));
        Client(client)
    }
}

impl Client {
    pub(crate) fn core(&self) -> &Arc<blocking::Client> {
        &self.0
    }
}

/// The clients to close when the process ends.
#[pyfunction]
pub(crate) fn open_clients() -> Vec<Client> {
    let clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    clients.iter().filter_map(Weak::upgrade).map(Client).collect()
}

/// The URL without its secrets, or the one that the environment names.
#[pyfunction]
pub(crate) fn redact_url(url: Option<&str>) -> String {
    let url = url.map_or_else(leaseq::url_from_env, |url| Ok(url.to_owned()));
    url.map_or_else(|_| String::new(), |url| leaseq::redact_url(&url))
}

#[pyfunction]
#[pyo3(signature = (
    bridge, url, namespace=None, timeout=None, connect_timeout=None, max_data=None, ca_file=None,
    replicas=None, fsync=None, clock=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords where users see them")]
pub(crate) fn connect<'py>(
    py: Python<'py>,
    bridge: Option<&Bound<'py, LoopBridge>>,
    url: Option<&Bound<'py, PyString>>,
    namespace: Option<&Bound<'py, PyString>>,
    timeout: Option<&Bound<'py, PyAny>>,
    connect_timeout: Option<&Bound<'py, PyAny>>,
    max_data: Option<&Bound<'py, PyAny>>,
    ca_file: Option<PathBuf>,
    replicas: Option<&Bound<'py, PyAny>>,
    fsync: Option<&Bound<'py, PyAny>>,
    clock: Option<&Bound<'py, TestClock>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut options = ConnectOptions::default();
    let url = url.map(|url| convert::text("the url", url)).transpose()?.map(str::to_owned);
    if let Some(namespace) = namespace {
        options.namespace = convert::text("a namespace", namespace)?.to_owned();
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
    if let Some(replicas) = replicas {
        options.replicas = convert::number("replicas", replicas, 0, MAX_REPLICAS)?;
    }
    options.fsync = fsync.map(convert::fsync).transpose()?;
    options.clock = clock.map(|clock| clock.get().clock());
    waiting_call(py, bridge, async move {
        let client = blocking::Client::connect(url.as_deref(), options).await?;
        Ok(Answer::Object(Box::new(|py, _| Ok(Bound::new(py, Client::new(client))?.into_any()))))
    })
}

#[pymethods]
impl Client {
    fn queue(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<Queue> {
        let name = convert::text("the name of a queue", name)?;
        let queue = self.0.queue(name).map_err(|error| exception(py, &error))?;
        Ok(Queue::new(Arc::new(queue)))
    }

    fn queues<'py>(
        &self,
        py: Python<'py>,
        bridge: Option<&Bound<'py, LoopBridge>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        call(py, bridge, async move {
            Ok(Answer::Names(client.in_this_process().await?.queues().await?))
        })
    }

    /// Runs an operation on the registry of workers, with JSON as arguments and answer.
    fn call_registry<'py>(
        &self,
        py: Python<'py>,
        bridge: Option<&Bound<'py, LoopBridge>>,
        operation: String,
        arguments: String,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        call(py, bridge, async move {
            let client = client.in_this_process().await?;
            Ok(Answer::Text(client.call_registry(&operation, &arguments).await?))
        })
    }

    /// Gives back the leases that were never used. Returns at once; the requests are sent in the background.
    fn give_back_unused(&self) {
        unused::give_back_of(&self.0);
    }

    #[pyo3(signature = (bridge, within=None))]
    fn close<'py>(
        &self,
        py: Python<'py>,
        bridge: Option<&Bound<'py, LoopBridge>>,
        within: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        let within = within.and_then(|within| Duration::try_from_secs_f64(within).ok());
        call(py, bridge, async move {
            match within {
                // What takes longer goes on without this caller.
                Some(within) => drop(tokio::time::timeout(within, client.close()).await),
                None => client.close().await,
            }
            Ok(Answer::Nothing)
        })
    }
}
