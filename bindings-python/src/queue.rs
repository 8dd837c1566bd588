//! One queue: how its operations call the core, adding items, and looking at them.

use std::sync::Arc;

use leaseq::blocking;
use leaseq::options::MAX_BATCH;
use leaseq::{Cursor, GetOptions, ListOptions, Result, WorkQueue};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::answer::Answer;
use crate::call::call;
use crate::convert;
use crate::error::exception;
use crate::item::Item;
use crate::loop_bridge::LoopBridge;

/// Who calls: asyncio has a bridge, a blocking caller has none.
pub(crate) type Caller<'a, 'py> = Option<&'a Bound<'py, LoopBridge>>;
pub(crate) type Reply<'py> = PyResult<Bound<'py, PyAny>>;

/// Of a listing: the opposite order, since, until, with data, id prefix, text in the data, text in the error.
type Wanted<'py> = (
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
);

fn list_options(limit: &Bound<'_, PyAny>, wanted: Wanted<'_>) -> PyResult<ListOptions> {
    let (reverse, since, until, data, id_prefix, data_contains, error_contains) = wanted;
    let mut options = ListOptions::new();
    options.limit = convert::number("a limit", limit, 1, MAX_BATCH as u32)? as usize;
    options.reverse = convert::flag("reverse", &reverse)?;
    options.data = convert::flag("data", &data)?;
    options.since = since.map(|time| convert::time("since", &time)).transpose()?;
    options.until = until.map(|time| convert::time("until", &time)).transpose()?;
    if let Some(prefix) = &id_prefix {
        options.id_prefix = convert::key("id_prefix", prefix)?.into_owned();
    }
    if let Some(bytes) = &data_contains {
        options.data_contains = convert::data("data_contains", bytes)?.into_owned();
    }
    if let Some(text) = &error_contains {
        let text = text.cast().map_err(|_| convert::wrong_type("error_contains", "a str", text))?;
        convert::text("error_contains", text)?.clone_into(&mut options.error_contains);
    }
    Ok(options)
}

#[pyclass(frozen, module = "leaseq._leaseq")]
pub(crate) struct Queue(Arc<blocking::Queue>);

impl Queue {
    pub(crate) fn new(queue: Arc<blocking::Queue>) -> Self {
        Queue(queue)
    }

    pub(crate) fn core(&self) -> &Arc<blocking::Queue> {
        &self.0
    }

    /// Calls the core with this process's queue.
    pub(crate) fn run<'py, F>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        operation: impl FnOnce(WorkQueue) -> F + Send + 'static,
    ) -> Reply<'py>
    where
        F: Future<Output = Result<Answer>> + Send,
    {
        let queue = self.0.clone();
        call(py, bridge, async move { operation(queue.in_this_process().await?.clone()).await })
    }
}

#[pymethods]
impl Queue {
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    fn add_item<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        item: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let item = Item::from(item)?;
        if let Some(bridge) = bridge {
            return LoopBridge::add(bridge, self.core(), item);
        }
        self.run(py, bridge, async move |queue| Ok(Answer::Flag(queue.add_item(item).await?)))
    }

    fn add_items<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        items: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let items = convert::several("items", items)?.map(|item| Item::from(&item?));
        let items = items.collect::<PyResult<Vec<_>>>()?;
        self.run(py, bridge, async move |queue| Ok(Answer::Flags(queue.add_items(items).await?)))
    }

    fn queue_len<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| Ok(Answer::Number(queue.queue_len().await?)))
    }

    fn processing<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| Ok(Answer::Number(queue.processing().await?)))
    }

    fn counts<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| Ok(Answer::Counts(queue.counts().await?)))
    }

    fn get<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        id: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let id = convert::id(id)?.into_owned();
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Info(queue.get(id).await?.map(Box::new)))
        })
    }

    fn get_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        ids: &Bound<'py, PyAny>,
        data: bool,
    ) -> Reply<'py> {
        let ids = convert::ids(ids)?;
        let mut options = GetOptions::new();
        options.data = data;
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Infos(queue.get_many_with(ids, options).await?))
        })
    }

    fn list<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        state: &Bound<'py, PyAny>,
        cursor: Option<&Bound<'py, PyString>>,
        limit: &Bound<'py, PyAny>,
        wanted: Wanted<'py>,
    ) -> Reply<'py> {
        let state = convert::state(state)?;
        let options = list_options(limit, wanted)?;
        let cursor = cursor.map(|cursor| convert::text("a cursor", cursor)).transpose()?;
        let cursor = cursor.map(str::parse::<Cursor>).transpose();
        let cursor = cursor.map_err(|error| exception(py, &error))?;
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Page(queue.list_with(state, cursor.as_ref(), &options).await?))
        })
    }
}
