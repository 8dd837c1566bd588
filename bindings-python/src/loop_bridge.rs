//! Between an event loop of asyncio and the core.
//!
//! Calls gather until the loop has finished its turn, or until there are enough of them, and go to the
//! core together. Replies that have arrived when the loop wakes up resolve their futures together.

use std::collections::{HashMap, VecDeque};
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use leaseq::blocking::{self, ProcessBound};
use leaseq::{CompleteOptions, Item, LeaseOptions};
use pyo3::exceptions::PyOSError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::unconstrained;

use crate::answer::{Answer, Flavor};
use crate::call_batch::CallBatch;
use crate::driver::{self, Call, drive};
use crate::error::{exception, internal};
use crate::gathered::GatheredCalls;
use crate::inbox::{Inbox, Reply, WakeUps};
use crate::unused::Handle;

/// So many calls go to the core before the loop has finished its turn.
const ENOUGH: usize = 50;

#[pyclass(frozen, weakref, module = "leaseq._leaseq")]
pub(crate) struct LoopBridge {
    create_future: Py<PyAny>,
    call_soon: Py<PyAny>,
    wake_ups: WakeUps,
    /// A child must neither run calls of its parent nor wake it.
    core: ProcessBound<Core>,
    /// Only locked by a thread that holds the GIL, and only for a moment.
    state: Mutex<State>,
}

/// The core's ends.
struct Core {
    driver: UnboundedSender<Vec<Call>>,
    inbox: Arc<Inbox>,
}

#[derive(Default)]
struct State {
    /// The number of the newest call.
    last: u64,
    pending: HashMap<u64, Pending>,
    gathered: GatheredCalls,
    /// `flush` will be called at the end of the loop's turn.
    flush_scheduled: bool,
}

struct Pending {
    future: Py<PyAny>,
    /// Of a call that may wait long.
    abandoned: Option<Arc<ProcessBound<Notify>>>,
}

/// A call that ends when it is abandoned.
#[pyclass(frozen, module = "leaseq._leaseq")]
pub(crate) struct Started(Arc<ProcessBound<Notify>>);

#[pymethods]
impl Started {
    /// The caller is gone: the call ends, and what it has leased goes back.
    fn abandon(&self) {
        abandon(&self.0);
    }
}

fn abandon(abandoned: &ProcessBound<Notify>) {
    // A child does not end the calls of its parent.
    if let Ok(abandoned) = abandoned.get("the call") {
        abandoned.notify_one();
    }
}

impl Drop for LoopBridge {
    fn drop(&mut self) {
        for call in self.state().pending.values() {
            call.abandoned.as_deref().inspect(|abandoned| abandon(abandoned));
        }
        // What was called is executed.
        self.send_gathered();
        if let Ok(core) = self.core.get("the event loop") {
            core.inbox.close();
        }
    }
}

/// Replies that are being delivered.
struct Undelivered<'a> {
    inbox: &'a Inbox,
    replies: VecDeque<Reply>,
}

impl Drop for Undelivered<'_> {
    fn drop(&mut self) {
        // Their callers wait for them: they are delivered the next time.
        self.inbox.put(&mut self.replies.drain(..).collect());
    }
}

impl LoopBridge {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call; the future of its answer.
    pub(crate) fn call<'py>(
        slf: &Bound<'py, Self>,
        work: impl Future<Output = leaseq::Result<Answer>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::submit(slf, None, |gathered, number| gathered.push(driver::call(number, work)))
    }

    /// Makes a call that may wait long and can be abandoned.
    pub(crate) fn waiting_call<'py>(
        slf: &Bound<'py, Self>,
        work: impl Future<Output = leaseq::Result<Answer>> + Send + 'static,
    ) -> PyResult<(Bound<'py, PyAny>, Started)> {
        let abandoned = Arc::new(ProcessBound::new(Notify::new()));
        let (of_pending, of_call) = (abandoned.clone(), abandoned.clone());
        let future = Self::submit(slf, Some(of_pending), |gathered, number| {
            gathered.push(driver::waiting_call(number, of_call, work));
        })?;
        Ok((future, Started(abandoned)))
    }

    /// Makes a call for one lease.
    pub(crate) fn lease<'py>(
        slf: &Bound<'py, Self>,
        queue: &Arc<blocking::Queue>,
        options: LeaseOptions,
    ) -> PyResult<(Bound<'py, PyAny>, Started)> {
        let abandoned = Arc::new(ProcessBound::new(Notify::new()));
        let (of_pending, of_call) = (abandoned.clone(), abandoned.clone());
        let future = Self::submit(slf, Some(of_pending), |gathered, number| {
            gathered.join(CallBatch::lease(queue, number, options, of_call));
        })?;
        Ok((future, Started(abandoned)))
    }

    /// Makes a call for one item.
    pub(crate) fn add<'py>(
        slf: &Bound<'py, Self>,
        queue: &Arc<blocking::Queue>,
        item: Item,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::submit(slf, None, |gathered, number| {
            gathered.join(CallBatch::add(queue, number, item));
        })
    }

    /// Makes a call that completes one item.
    pub(crate) fn complete<'py>(
        slf: &Bound<'py, Self>,
        queue: &Arc<blocking::Queue>,
        lease: Arc<Handle>,
        options: CompleteOptions,
        result: Option<Bytes>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::submit(slf, None, |gathered, number| {
            gathered.join(CallBatch::complete(queue, options, (number, lease, result)));
        })
    }

    fn submit<'py>(
        slf: &Bound<'py, Self>,
        abandoned: Option<Arc<ProcessBound<Notify>>>,
        gather: impl FnOnce(&mut GatheredCalls, u64),
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        this.core(py)?;
        let future = this.create_future.bind(py).call0()?;
        if !this.state().flush_scheduled {
            let flush = slf.getattr(intern!(py, "flush"))?;
            this.call_soon.bind(py).call1((flush,))?;
            this.state().flush_scheduled = true;
        }
        let mut state = this.state();
        state.last += 1;
        let number = state.last;
        gather(&mut state.gathered, number);
        state.pending.insert(number, Pending { future: future.clone().unbind(), abandoned });
        let enough = state.gathered.count() >= ENOUGH;
        drop(state);
        if enough {
            this.send_gathered();
        }
        Ok(future)
    }

    fn core(&self, py: Python<'_>) -> PyResult<&Core> {
        self.core.get("the event loop").map_err(|error| exception(py, &error))
    }

    fn send_gathered(&self) {
        let gathered = self.state().gathered.take();
        if let Ok(core) = self.core.get("the event loop")
            && !gathered.is_empty()
        {
            // The driver ends later than this.
            let _ = core.driver.send(gathered);
        }
    }

    /// Resolves the future of a call.
    fn resolve(
        &self,
        py: Python<'_>,
        number: u64,
        answer: Option<leaseq::Result<Answer>>,
    ) -> PyResult<()> {
        let Some(call) = self.state().pending.remove(&number) else { return Ok(()) };
        let future = call.future.bind(py);
        if future.call_method0(intern!(py, "done"))?.is_truthy()? {
            return Ok(());
        }
        let answer = match answer {
            Some(Ok(answer)) => answer.into_python(py, Flavor::Asyncio),
            Some(Err(error)) => Err(exception(py, &error)),
            None => Err(internal(py, "a call broke off")),
        };
        match answer {
            Ok(value) => future.call_method1(intern!(py, "set_result"), (value,))?,
            Err(error) => {
                future.call_method1(intern!(py, "set_exception"), (error.into_value(py),))?
            }
        };
        Ok(())
    }
}

#[pymethods]
impl LoopBridge {
    #[new]
    fn new(py: Python<'_>, event_loop: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (inbox, wake_ups) = Inbox::new()?;
        let inbox = Arc::new(inbox);
        let (driver, calls) = unbounded_channel();
        // Not in slices: what is ready now is delivered together.
        let driven = unconstrained(drive(calls, inbox.clone()));
        blocking::start(driven).map_err(|error| exception(py, &error))?;
        Ok(LoopBridge {
            create_future: event_loop.getattr("create_future")?.unbind(),
            call_soon: event_loop.getattr("call_soon")?.unbind(),
            wake_ups,
            core: ProcessBound::new(Core { driver, inbox }),
            state: Mutex::default(),
        })
    }

    fn fileno(&self) -> RawFd {
        self.wake_ups.fd()
    }

    /// Sends the calls that have gathered. The loop calls this when it has finished its turn.
    fn flush(&self) {
        self.state().flush_scheduled = false;
        self.send_gathered();
    }

    /// Resolves the futures of the replies that have arrived. On the loop's thread.
    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        let core = self.core(py)?;
        if !self.wake_ups.read() {
            return Err(PyOSError::new_err("the event loop was closed from outside"));
        }
        let mut left = Undelivered { inbox: &core.inbox, replies: core.inbox.take().into() };
        while let Some((number, answer)) = left.replies.pop_front() {
            self.resolve(py, number, answer)?;
        }
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.create_future)?;
        visit.call(&self.call_soon)
    }
}
