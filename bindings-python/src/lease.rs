//! A lease. The two interfaces subclass it, for their `with` blocks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use leaseq::blocking;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyTuple};

use crate::answer::{endings_value, expressible, releases_value, trigger_value};
use crate::convert;
use crate::error::{exception, internal};
use crate::unused::Handle;

/// The argument of the constructor of a lease, which only this library can make.
#[pyclass(frozen, module = "leaseq._leaseq")]
pub(crate) struct LeaseInit(Mutex<Option<Lease>>);

impl LeaseInit {
    pub(crate) fn new(lease: leaseq::Lease, queue: &Arc<blocking::Queue>) -> Self {
        let handle = Handle::new(lease, queue.clone());
        LeaseInit(Mutex::new(Some(Lease { handle, data: PyOnceLock::new() })))
    }
}

/// One item, leased.
#[pyclass(frozen, subclass, weakref, module = "leaseq._leaseq")]
pub(crate) struct Lease {
    handle: Arc<Handle>,
    data: PyOnceLock<Py<PyBytes>>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.handle.give_back_unused();
    }
}

impl Lease {
    /// What a call shares with this lease. The caller has used the lease then.
    pub(crate) fn handle(&self) -> &Arc<Handle> {
        self.handle.set_used();
        &self.handle
    }

    /// The lease in any process, for what needs no lock.
    fn look(&self, py: Python<'_>) -> PyResult<&leaseq::Lease> {
        self.handle().lease.peek().ok_or_else(|| internal(py, "the lease is gone"))
    }

    /// The lease in the process that has it, for everything else.
    pub(crate) fn in_this_process(&self, py: Python<'_>) -> PyResult<&leaseq::Lease> {
        self.handle().in_this_process().map_err(|error| exception(py, &error))
    }
}

#[pymethods]
impl Lease {
    #[new]
    fn new(py: Python<'_>, init: &LeaseInit) -> PyResult<Self> {
        let lease = init.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        lease.ok_or_else(|| internal(py, "a lease was given twice"))
    }

    /// The id as text, with surrogates for bytes that are not UTF-8, as in names of files.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::id_text(py, self.look(py)?.id())
    }

    /// The id as bytes.
    #[getter]
    fn id_bytes(&self, py: Python<'_>) -> PyResult<&[u8]> {
        Ok(self.look(py)?.id())
    }

    /// The data.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyBytes>> {
        let lease = self.look(py)?;
        Ok(self.data.get_or_init(py, || PyBytes::new(py, lease.data()).unbind()).bind(py))
    }

    /// Reads the data as JSON. Raises `InvalidError` if it is no JSON.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let from_json = py.import("leaseq._values")?.getattr("from_json")?;
        from_json.call1((self.data(py)?, self.id(py)?))
    }

    /// The queue's name.
    #[getter]
    fn queue(&self) -> &str {
        self.handle().queue.name()
    }

    /// 1 for the first delivery; 1 + failures + expiries after that.
    #[getter]
    fn attempt(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.look(py)?.attempt())
    }

    /// How many earlier deliveries ended with `fail`.
    #[getter]
    fn failures(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.look(py)?.failures())
    }

    /// How many earlier deliveries ended with an expired lease.
    #[getter]
    fn expiries(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.look(py)?.expiries())
    }

    /// The limit of attempts, if there is one.
    #[getter]
    fn max_attempts(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(self.look(py)?.max_attempts())
    }

    /// The item's key, if it has one, as text like the id.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.look(py)?.key().map(|key| convert::id_text(py, key)).transpose()
    }

    /// The item's key as bytes.
    #[getter]
    fn key_bytes(&self, py: Python<'_>) -> PyResult<Option<&[u8]>> {
        Ok(self.look(py)?.key())
    }

    /// 0 to 9.
    #[getter]
    fn priority(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.look(py)?.priority().into())
    }

    /// The text of the last `fail`; empty if there was none.
    #[getter]
    fn last_error(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(self.look(py)?.last_error())
    }

    /// How its last 16 failed or expired leases ended, the oldest first, also before a `requeue`; empty if
    /// there was none.
    #[getter]
    fn endings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        endings_value(py, self.look(py)?.endings())
    }

    /// The releases in a row for one reason, up to now; `None` if there was none.
    #[getter]
    fn releases<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        releases_value(py, self.look(py)?.releases())
    }

    /// The item whose end has added this one, if it is a follow-up that asked for it; else `None`.
    #[getter]
    fn trigger<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        trigger_value(py, self.look(py)?.trigger())
    }

    /// Numbers the lives of the id, each from an add to the completion. It goes up with every add of the
    /// id, so it can fence off writers of an earlier life.
    #[getter]
    fn generation(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.look(py)?.generation())
    }

    /// Seconds for which the item was ready before it was leased, in whole milliseconds of the server's clock: since it
    /// was added, revised, requeued or due, or came back because a lease has failed or expired. An item that is
    /// released without a delay goes on waiting. The time in which it was held because of its key counts. 0 if it
    /// was leased at once.
    #[getter]
    fn waited(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.look(py)?.waited().as_secs_f64())
    }

    /// When the lease expires, as far as this handle knows: on the server's clock, in UTC.
    #[getter]
    fn deadline(&self, py: Python<'_>) -> PyResult<SystemTime> {
        Ok(expressible(self.look(py)?.deadline()))
    }

    /// Seconds left, on this process's clock; never more than the server would say.
    #[getter]
    fn remaining(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.in_this_process(py)?.remaining().as_secs_f64())
    }

    /// True once another worker may have the item: the server has said so, or the deadline has passed.
    /// False for a lease that was completed, released or failed.
    #[getter]
    fn lost(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.in_this_process(py)?.is_lost())
    }

    /// True once the lease was completed, released or failed through this handle; `completed` says which.
    #[getter]
    fn settled(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.in_this_process(py)?.is_settled())
    }

    /// Whether a call has completed the item through this handle. After a call for many leases has
    /// raised, this says what has become of each.
    ///
    /// - True: this handle has completed the item, and the item is gone. The lease is settled too.
    /// - False: this handle has not completed it. If the lease is settled, it was released or failed, or
    ///   another caller has completed or removed the item.
    /// - None: unknown, because a call has no answer yet, was interrupted or cancelled, or has raised with
    ///   `outcome_unknown`. Completing the item again does no harm; `settled` says nothing about that.
    #[getter]
    fn completed(&self, py: Python<'_>) -> PyResult<Option<bool>> {
        Ok(self.in_this_process(py)?.completed())
    }

    /// Whether leaving a `with` block has something to do: the lease is not settled and of this process.
    #[getter]
    pub(crate) fn _held(&self) -> bool {
        self.handle().in_this_process().is_ok_and(|lease| !lease.is_settled())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let (py, this) = (slf.py(), slf.get());
        let module = slf.get_type().getattr("__module__")?;
        let (id, attempt) = (this.id(py)?.repr()?, this.attempt(py)?);
        Ok(format!("<{module}.Lease of {id} in queue '{}', attempt {attempt}>", this.queue()))
    }
}
