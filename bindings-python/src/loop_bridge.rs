//! Where answers for an event loop of asyncio arrive.
//!
//! The threads of the core never take the GIL: they put answers into a box, and ring by a byte
//! through a pair of sockets if it was empty. The loop reads that as it reads any socket, and hands
//! out everything that has arrived, in one go.

use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leaseq::blocking::{self, ProcessBound};
use pyo3::exceptions::PyOSError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use tokio::sync::Notify;

use crate::answer::{Answer, Flavor};
use crate::error::{exception, internal};

type Arrived = (u64, Option<leaseq::Result<Answer>>);

#[pyclass(frozen, weakref, module = "leaseq._leaseq")]
pub(crate) struct LoopBridge {
    create_future: Py<PyAny>,
    /// A child must not ring for its parent.
    inbox: ProcessBound<Arc<Inbox>>,
    wake_rx: UnixStream,
    /// Only locked by whoever holds the GIL, and only for a moment.
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    last: u64,
    calls: HashMap<u64, Call>,
}

struct Call {
    future: Py<PyAny>,
    /// For a call that ends when nobody waits for it any more.
    started: Option<Arc<ProcessBound<Notify>>>,
}

/// A call that ends when nobody waits for it any more.
#[pyclass(frozen, module = "leaseq._leaseq")]
pub(crate) struct Started(Arc<ProcessBound<Notify>>);

#[pymethods]
impl Started {
    /// Nobody waits: the call ends, and what it has leased goes back.
    fn abandon(&self) {
        abandon(&self.0);
    }
}

fn abandon(started: &ProcessBound<Notify>) {
    // The parent's calls are none of a child's business.
    if let Ok(abandoned) = started.get("the call") {
        abandoned.notify_one();
    }
}

struct Inbox {
    /// `None` when the loop is gone.
    arrived: Mutex<Option<Vec<Arrived>>>,
    wake_tx: UnixStream,
}

impl Inbox {
    fn arrived(&self) -> MutexGuard<'_, Option<Vec<Arrived>>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, arrival: Arrived) {
        let rest = match &mut *self.arrived() {
            Some(arrived) => {
                arrived.push(arrival);
                if arrived.len() == 1 {
                    // When it is full, it has been rung.
                    let _ = (&self.wake_tx).write(&[0]);
                }
                None
            }
            // Nobody will come for it: leases go back, outside the lock.
            None => Some(arrival),
        };
        drop(rest);
    }
}

impl Drop for LoopBridge {
    fn drop(&mut self) {
        if let Ok(inbox) = self.inbox.get("the event loop") {
            // Outside the lock: leases go back.
            let left = inbox.arrived().take();
            drop(left);
        }
        for call in self.pending().calls.values() {
            call.started.as_deref().inspect(|started| abandon(started));
        }
    }
}

/// Sends the answer even if the call panics, or is aborted.
struct Reply {
    inbox: Arc<Inbox>,
    number: u64,
    answer: Option<leaseq::Result<Answer>>,
}

impl Reply {
    async fn of(mut self, call: impl Future<Output = leaseq::Result<Answer>>) {
        self.answer = Some(call.await);
    }

    async fn unless_abandoned(
        mut self,
        started: Arc<ProcessBound<Notify>>,
        call: impl Future<Output = leaseq::Result<Answer>>,
    ) {
        let Ok(abandoned) = started.get("the call") else { return };
        self.answer = tokio::select! {
            biased;
            () = abandoned.notified() => None,
            answer = call => Some(answer),
        };
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.inbox.put((self.number, self.answer.take()));
    }
}

/// Answers that are being handed out.
struct Left<'a> {
    inbox: &'a Inbox,
    arrived: VecDeque<Arrived>,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        for arrival in self.arrived.drain(..) {
            self.inbox.put(arrival);
        }
    }
}

impl LoopBridge {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves the future of a call.
    fn hand_out(
        &self,
        py: Python<'_>,
        number: u64,
        answer: Option<leaseq::Result<Answer>>,
    ) -> PyResult<()> {
        let Some(call) = self.pending().calls.remove(&number) else { return Ok(()) };
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

    /// Starts a call; the future of its answer.
    pub(crate) fn start<'py>(
        &self,
        py: Python<'py>,
        call: impl Future<Output = leaseq::Result<Answer>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.spawn(py, call, false)?.0)
    }

    /// Starts a call that can be abandoned.
    pub(crate) fn start_wait<'py>(
        &self,
        py: Python<'py>,
        call: impl Future<Output = leaseq::Result<Answer>> + Send + 'static,
    ) -> PyResult<(Bound<'py, PyAny>, Option<Started>)> {
        let (future, started) = self.spawn(py, call, true)?;
        Ok((future, started.map(Started)))
    }

    #[expect(clippy::type_complexity, reason = "here only")]
    fn spawn<'py>(
        &self,
        py: Python<'py>,
        call: impl Future<Output = leaseq::Result<Answer>> + Send + 'static,
        waits: bool,
    ) -> PyResult<(Bound<'py, PyAny>, Option<Arc<ProcessBound<Notify>>>)> {
        let inbox = self.inbox.get("the event loop").map_err(|error| exception(py, &error))?;
        let future = self.create_future.bind(py).call0()?;
        let started = waits.then(|| Arc::new(ProcessBound::new(Notify::new())));
        let mut pending = self.pending();
        pending.last += 1;
        let number = pending.last;
        let reply = Reply { inbox: inbox.clone(), number, answer: None };
        let begun = match started.clone() {
            None => blocking::start(reply.of(call)),
            Some(started) => blocking::start(reply.unless_abandoned(started, call)),
        };
        begun.map_err(|error| exception(py, &error))?;
        let call = Call { future: future.clone().unbind(), started: started.clone() };
        pending.calls.insert(number, call);
        Ok((future, started))
    }
}

#[pymethods]
impl LoopBridge {
    #[new]
    fn new(event_loop: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (wake_rx, wake_tx) = UnixStream::pair()?;
        wake_rx.set_nonblocking(true)?;
        wake_tx.set_nonblocking(true)?;
        let arrived = Mutex::new(Some(Vec::new()));
        Ok(LoopBridge {
            create_future: event_loop.getattr("create_future")?.unbind(),
            inbox: ProcessBound::new(Arc::new(Inbox { arrived, wake_tx })),
            wake_rx,
            pending: Mutex::default(),
        })
    }

    fn fileno(&self) -> RawFd {
        self.wake_rx.as_raw_fd()
    }

    /// Hands out what has arrived. On the loop's thread.
    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        let inbox = self.inbox.get("the event loop").map_err(|error| exception(py, &error))?;
        let mut rung = [0; 64];
        if matches!((&self.wake_rx).read(&mut rung), Ok(0)) {
            return Err(PyOSError::new_err("the event loop was closed from outside"));
        }
        let arrived = match &mut *inbox.arrived() {
            Some(arrived) => std::mem::take(arrived),
            None => Vec::new(),
        };
        // What an error leaves over is handed out the next time: others wait for it.
        let mut left = Left { inbox, arrived: arrived.into() };
        while let Some((number, answer)) = left.arrived.pop_front() {
            self.hand_out(py, number, answer)?;
        }
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.create_future)
    }
}
