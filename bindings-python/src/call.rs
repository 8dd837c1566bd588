//! Makes a call: a blocking caller gets the answer, asyncio a future.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leaseq::ErrorKind;
use leaseq::blocking::run_while;
use pyo3::prelude::*;

use crate::answer::{Answer, Flavor};
use crate::error::Failure;
use crate::loop_bridge::LoopBridge;

/// How often a blocking caller looks for signals.
const SIGNALS: Duration = Duration::from_millis(25);

pub(crate) fn call<'py>(
    py: Python<'py>,
    bridge: Option<&Bound<'py, LoopBridge>>,
    call: impl Future<Output = leaseq::Result<Answer>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    match bridge {
        None => wait(py, call)?.into_python(py, Flavor::Blocking),
        Some(bridge) => LoopBridge::call(bridge, call),
    }
}

/// A call that may wait long. asyncio gets the future of its answer, and a handle that abandons the call.
pub(crate) fn waiting_call<'py>(
    py: Python<'py>,
    bridge: Option<&Bound<'py, LoopBridge>>,
    call: impl Future<Output = leaseq::Result<Answer>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    match bridge {
        None => wait(py, call)?.into_python(py, Flavor::Blocking),
        Some(bridge) => Ok(LoopBridge::waiting_call(bridge, call)?.into_pyobject(py)?.into_any()),
    }
}

/// Runs a call on the calling thread, without the GIL; signals keep working.
pub(crate) fn wait(
    py: Python<'_>,
    call: impl Future<Output = leaseq::Result<Answer>> + Send + 'static,
) -> PyResult<Answer> {
    // While the interpreter ends, no signal can be handled.
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
    // For a signal that came with the answer: what was leased goes back if its handler raises.
    py.check_signals()?;
    Ok(answer)
}

static EXITING: AtomicBool = AtomicBool::new(false);

/// Called when the interpreter ends, before it closes the clients.
#[pyfunction]
pub(crate) fn exiting() {
    EXITING.store(true, Ordering::Release);
}

/// A thread that waited without the GIL stops here if the interpreter ends meanwhile.
pub(crate) fn park_at_exit() {
    while EXITING.load(Ordering::Acquire) {
        std::thread::park();
    }
}

/// At the end of the process a daemon thread gets no error: it stops here, as Python itself would stop it.
fn end_with_the_process(py: Python<'_>) {
    if !EXITING.load(Ordering::Acquire) {
        return;
    }
    let thread = py.import("threading").and_then(|module| module.call_method0("current_thread"));
    let daemon = thread.and_then(|thread| thread.getattr("daemon")?.is_truthy());
    if daemon.unwrap_or(false) {
        py.detach(park_at_exit);
    }
}
