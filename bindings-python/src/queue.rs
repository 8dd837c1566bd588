//! The operations on a queue.

use std::sync::Arc;
use std::time::Duration;

use leaseq::blocking;
use leaseq::options::MAX_BATCH;
use leaseq::{CompleteOptions, Cursor, KeepAlive, LeaseOptions, Result, WorkQueue};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::answer::Answer;
use crate::call::{call, call_that_waits};
use crate::convert;
use crate::error::{exception, invalid};
use crate::item::Item;
use crate::lease::{Lease, Parcel};
use crate::loop_bridge::LoopBridge;
use crate::unused::Handle;

/// Whoever calls: asyncio has a bridge.
type Caller<'a, 'py> = Option<&'a Bound<'py, LoopBridge>>;
type Reply<'py> = PyResult<Bound<'py, PyAny>>;

#[pyclass(frozen, module = "leaseq._leaseq")]
pub(crate) struct Queue(Arc<blocking::Queue>);

impl Queue {
    pub(crate) fn new(queue: Arc<blocking::Queue>) -> Self {
        Queue(queue)
    }

    /// Calls the core with this process's queue.
    fn run<'py, F>(
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

    fn lease_up_to<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        count: usize,
        options: &Wanted<'_, 'py>,
        answer: fn(Parcel) -> Answer,
    ) -> Reply<'py> {
        let (options, queue) = (options.checked(py)?, self.0.clone());
        // Between the call's end and its caller lies the loop: `close` must not come in between. A
        // blocking caller may itself close the client, in a signal's handler.
        let held = bridge.is_some();
        call_that_waits(py, bridge, async move {
            let from = queue.in_this_process().await?.clone();
            let hold = held.then(|| from.hold());
            let leases = from.lease_many(count, options).await?;
            Ok(answer(Parcel::new(leases, from, queue.clone(), hold)))
        })
    }
}

/// The options of a lease, as they were given.
struct Wanted<'a, 'py> {
    duration: &'a Bound<'py, PyAny>,
    wait: Option<&'a Bound<'py, PyAny>>,
    keep_alive: bool,
    limit: Option<&'a Bound<'py, PyAny>>,
}

impl Wanted<'_, '_> {
    fn checked(&self, py: Python<'_>) -> PyResult<LeaseOptions> {
        let mut options = LeaseOptions::new(convert::duration("a lease", self.duration)?);
        if let Some(wait) = self.wait {
            options = options.wait(convert::duration("a wait", wait)?);
        }
        let mut keep_alive = KeepAlive::new();
        if let Some(limit) = self.limit {
            if !self.keep_alive {
                return Err(invalid(py, "a keep_alive_limit was given without keep_alive"));
            }
            keep_alive = keep_alive.limit(convert::duration("a keep_alive_limit", limit)?);
        }
        Ok(if self.keep_alive { options.keep_alive(keep_alive) } else { options })
    }
}

/// Leases that a call on its way shares with their handles.
struct LeaseArgs(Vec<Arc<Handle>>);

impl LeaseArgs {
    fn many(leases: &Bound<'_, PyAny>) -> PyResult<Self> {
        let each = convert::several("leases", leases)?
            .map(|lease| Ok(lease?.cast::<Lease>()?.get().handle().clone()));
        LeaseArgs(each.collect::<PyResult<_>>()?).checked(leases.py())
    }

    /// Before anything else: all are of this process.
    fn checked(self, py: Python<'_>) -> PyResult<Self> {
        let all = self.0.iter().try_for_each(|handle| handle.in_this_process().map(drop));
        all.map(|()| self).map_err(|error| exception(py, &error))
    }

    fn leases(&self) -> impl Iterator<Item = &leaseq::Lease> {
        self.0.iter().filter_map(|handle| handle.lease.peek())
    }
}

/// A lease of this process: that is seen to before anything else.
fn one(lease: &Bound<'_, Lease>) -> PyResult<Arc<Handle>> {
    let handle = lease.get().handle().clone();
    handle.in_this_process().map_err(|error| exception(lease.py(), &error))?;
    Ok(handle)
}

/// Nothing instead of the error of a lease that is lost: there is no other for one of many.
fn kept<T>(answers: Vec<Result<T>>) -> Vec<Option<T>> {
    answers.into_iter().map(Result::ok).collect()
}

fn delay_of(delay: Option<&Bound<'_, PyAny>>) -> PyResult<Duration> {
    delay.map_or(Ok(Duration::ZERO), |delay| convert::duration("a delay", delay))
}

fn strictly(strict: bool) -> CompleteOptions {
    if strict { CompleteOptions::new().strict() } else { CompleteOptions::new() }
}

/// One text for all, or one for each.
fn errors_of(error: &Bound<'_, PyAny>, leases: usize) -> PyResult<Vec<String>> {
    if let Ok(text) = error.cast::<PyString>() {
        return Ok(vec![text.to_string_lossy().into_owned(); leases]);
    }
    let texts =
        error.try_iter()?.map(|text| Ok(text?.cast::<PyString>()?.to_string_lossy().into_owned()));
    let texts: Vec<String> = texts.collect::<PyResult<_>>()?;
    if texts.len() != leases {
        let message = format_args!("{} errors for {leases} leases", texts.len());
        return Err(invalid(error.py(), message));
    }
    Ok(texts)
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

    fn lease<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        duration: &Bound<'py, PyAny>,
        wait: Option<&Bound<'py, PyAny>>,
        keep_alive: bool,
        limit: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let wanted = Wanted { duration, wait, keep_alive, limit };
        self.lease_up_to(py, bridge, 1, &wanted, Answer::Lease)
    }

    #[expect(clippy::too_many_arguments, reason = "keywords where users see them")]
    fn lease_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        count: &Bound<'py, PyAny>,
        duration: &Bound<'py, PyAny>,
        wait: Option<&Bound<'py, PyAny>>,
        keep_alive: bool,
        limit: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let count = convert::number("a count", count, 1, u32::MAX)? as usize;
        let wanted = Wanted { duration, wait, keep_alive, limit };
        self.lease_up_to(py, bridge, count, &wanted, Answer::Leases)
    }

    #[expect(clippy::too_many_arguments, reason = "keywords where users see them")]
    fn complete_and_lease<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        leases: &Bound<'py, PyAny>,
        strict: bool,
        count: &Bound<'py, PyAny>,
        duration: &Bound<'py, PyAny>,
        wait: Option<&Bound<'py, PyAny>>,
        keep_alive: bool,
        limit: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let (args, complete) = (LeaseArgs::many(leases)?, strictly(strict));
        let count = convert::number("a count", count, 1, u32::MAX)? as usize;
        let options = Wanted { duration, wait, keep_alive, limit }.checked(py)?;
        let (queue, held) = (self.0.clone(), bridge.is_some());
        call_that_waits(py, bridge, async move {
            let from = queue.in_this_process().await?.clone();
            let hold = held.then(|| from.hold());
            let leases = args.leases();
            let done = from.complete_and_lease_with(leases, complete, count, options).await?;
            let parcel = Parcel::new(done.leases, from, queue.clone(), hold);
            Ok(Answer::Both(done.completed, parcel))
        })
    }

    /// Gives leases back that reached nobody; at once, the rest is done in the background.
    fn give_back(&self, leases: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.give_back(LeaseArgs::many(leases)?.leases());
        Ok(())
    }

    pub(crate) fn complete<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        lease: &Bound<'py, Lease>,
        strict: bool,
    ) -> Reply<'py> {
        let (lease, options) = (one(lease)?, strictly(strict));
        self.run(py, bridge, async move |queue| {
            let lease = lease.in_this_process()?;
            Ok(Answer::Flag(queue.complete_with(lease, options).await?))
        })
    }

    fn complete_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        leases: &Bound<'py, PyAny>,
        strict: bool,
    ) -> Reply<'py> {
        let (args, options) = (LeaseArgs::many(leases)?, strictly(strict));
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Flags(queue.complete_many_with(args.leases(), options).await?))
        })
    }

    fn extend<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        lease: &Bound<'py, Lease>,
        duration: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let (lease, duration) = (one(lease)?, convert::duration("a lease", duration)?);
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Time(queue.extend(lease.in_this_process()?, duration).await?))
        })
    }

    fn extend_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        leases: &Bound<'py, PyAny>,
        duration: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let (args, duration) = (LeaseArgs::many(leases)?, convert::duration("a lease", duration)?);
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Times(kept(queue.extend_many(args.leases(), duration).await?)))
        })
    }

    pub(crate) fn release<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        lease: &Bound<'py, Lease>,
        delay: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let (lease, delay) = (one(lease)?, delay_of(delay)?);
        self.run(py, bridge, async move |queue| {
            queue.release(lease.in_this_process()?, delay).await?;
            Ok(Answer::Nothing)
        })
    }

    fn release_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        leases: &Bound<'py, PyAny>,
        delay: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let (args, delay) = (LeaseArgs::many(leases)?, delay_of(delay)?);
        self.run(py, bridge, async move |queue| {
            let released = queue.release_many(args.leases(), delay).await?;
            Ok(Answer::Flags(released.iter().map(Result::is_ok).collect()))
        })
    }

    pub(crate) fn fail<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        lease: &Bound<'py, Lease>,
        error: &Bound<'py, PyString>,
        delay: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let (lease, delay) = (one(lease)?, delay_of(delay)?);
        let error = error.to_string_lossy().into_owned();
        self.run(py, bridge, async move |queue| {
            Ok(Answer::State(queue.fail(lease.in_this_process()?, &error, delay).await?))
        })
    }

    fn fail_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        leases: &Bound<'py, PyAny>,
        error: &Bound<'py, PyAny>,
        delay: Option<&Bound<'py, PyAny>>,
    ) -> Reply<'py> {
        let (args, delay) = (LeaseArgs::many(leases)?, delay_of(delay)?);
        let errors = errors_of(error, args.0.len())?;
        self.run(py, bridge, async move |queue| {
            let failures = args.leases().zip(errors.iter().map(String::as_str));
            Ok(Answer::States(kept(queue.fail_many(failures, delay).await?)))
        })
    }

    fn light_clean<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| Ok(Answer::Light(queue.light_clean().await?)))
    }

    fn deep_clean<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| Ok(Answer::Deep(queue.deep_clean().await?)))
    }

    fn check<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| Ok(Answer::Deep(queue.check().await?)))
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
        self.run(py, bridge, async move |queue| Ok(Answer::Info(queue.get(id).await?)))
    }

    fn list<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        state: &Bound<'py, PyAny>,
        cursor: Option<&Bound<'py, PyString>>,
        limit: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let state = convert::state(state)?;
        let limit = convert::number("a limit", limit, 1, MAX_BATCH as u32)? as usize;
        let cursor = cursor.map(|cursor| convert::text("a cursor", cursor)).transpose()?;
        let cursor = cursor.map(str::parse::<Cursor>).transpose();
        let cursor = cursor.map_err(|error| exception(py, &error))?;
        self.run(py, bridge, async move |queue| {
            Ok(Answer::Page(queue.list(state, cursor.as_ref(), limit).await?))
        })
    }

    fn remove<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        id: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let id = convert::id(id)?.into_owned();
        self.run(py, bridge, async move |queue| Ok(Answer::Flag(queue.remove(id).await?)))
    }

    fn remove_many<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        ids: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let ids = convert::ids(ids)?;
        self.run(py, bridge, async move |queue| Ok(Answer::Flags(queue.remove_many(ids).await?)))
    }

    fn requeue<'py>(
        &self,
        py: Python<'py>,
        bridge: Caller<'_, 'py>,
        ids: &Bound<'py, PyAny>,
    ) -> Reply<'py> {
        let ids = convert::ids(ids)?;
        self.run(py, bridge, async move |queue| Ok(Answer::Flags(queue.requeue(ids).await?)))
    }

    fn pause<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| queue.pause().await.map(|()| Answer::Nothing))
    }

    fn resume<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| queue.resume().await.map(|()| Answer::Nothing))
    }

    fn drop_queue<'py>(&self, py: Python<'py>, bridge: Caller<'_, 'py>) -> Reply<'py> {
        self.run(py, bridge, async move |queue| Ok(Answer::Flag(queue.drop_queue().await?)))
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
