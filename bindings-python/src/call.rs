//! Runs a call: to its end for a blocking caller, beside an event loop for asyncio.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leaseq::ErrorKind;
use leaseq::blocking::run_while;
use pyo3::prelude::*;

use crate::answer::{Answer, Flavor};
use crate::error::Failure;
use crate::loop_bridge::LoopBridge;

/// How long a signal may go unnoticed.
const SIGNALS: Duration = Duration::from_millis(25);

pub(crate) fn call<'py>(
    py: Python<'py>,
    bridge: Option<&Bound<'py, LoopBridge>>,
    call: impl Future<Output = leaseq::Result<Answer>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    match bridge {
        None => wait(py, call)?.into_python(py, Flavor::Blocking),
        Some(bridge) => Ok(bridge.get().start(py, call)?),
    }
}

/// A call that ends when nobody waits for it any more. For asyncio it is the
/// future and a handle to abandon it.
pub(crate) fn call_that_waits<'py>(
    py: Python<'py>,
    bridge: Option<&Bound<'py, LoopBridge>>,
    call: impl Future<Output = leaseq::Result<Answer>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    match bridge {
        None => wait(py, call)?.into_python(py, Flavor::Blocking),
        Some(bridge) => Ok(bridge.get().start_wait(py, call)?.into_pyobject(py)?.into_any()),
    }
}

/// Without the GIL, on the calling thread; signals keep working.
pub(crate) fn wait(
    py: Python<'_>,
    call: impl Future<Output = leaseq::Result<Answer>> + Send,
) -> PyResult<Answer> {
    // While the interpreter ends, there is nobody to ask, and nothing to be done about it.
    let signals = || match Python::try_attach(|py| py.check_signals()) {
        Some(Err(error)) => Err(Failure::Python(error)),
        _ => Ok(()),
    };
    let answer = py.detach(|| run_while(call, SIGNALS, signals)).map_err(|failure| {
        if matches!(&failure, Failure::Core(error) if error.kind() == ErrorKind::Closed) {
            end_with_the_process(py);
        }
        failure.exception(py)
    })?;
    // A signal that came with the answer: its exception would lose what was leased.
    py.check_signals()?;
    Ok(answer)
}

static EXITING: AtomicBool = AtomicBool::new(false);

/// The interpreter ends, and closes the clients.
#[pyfunction]
pub(crate) fn exiting() {
    EXITING.store(true, Ordering::Release);
}

/// A daemon thread does not hear of it: it stops here, as it would on its way back to Python.
fn end_with_the_process(py: Python<'_>) {
    if !EXITING.load(Ordering::Acquire) {
        return;
    }
    let thread = py.import("threading").and_then(|module| module.call_method0("current_thread"));
    let daemon = thread.and_then(|thread| thread.getattr("daemon")?.is_truthy());
    if daemon.unwrap_or(false) {
        py.detach(|| {
            loop {
                std::thread::park();
            }
        })
    }
}
