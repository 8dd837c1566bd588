//! The errors of the core as exceptions. Their classes are written in Python.

use leaseq::{Error, ErrorKind};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

const MODULE: &str = "leaseq.exceptions";

macro_rules! class {
    ($py:expr, $name:literal) => {{
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        CLASS.import($py, MODULE, $name)
    }};
}

pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::Invalid => class!(py, "InvalidError"),
        ErrorKind::LeaseLost => class!(py, "LeaseLostError"),
        ErrorKind::Unavailable => class!(py, "UnavailableError"),
        ErrorKind::Incompatible => class!(py, "IncompatibleError"),
        ErrorKind::Closed => class!(py, "ClosedError"),
        _ => class!(py, "InternalError"),
    };
    let message = error.to_string();
    match class {
        Ok(class) if error.kind() == ErrorKind::Unavailable => {
            PyErr::from_type(class.clone(), (message, error.outcome_unknown()))
        }
        Ok(class) => PyErr::from_type(class.clone(), (message,)),
        Err(error) => error,
    }
}

pub(crate) fn invalid(py: Python<'_>, message: impl std::fmt::Display) -> PyErr {
    match class!(py, "InvalidError") {
        Ok(class) => PyErr::from_type(class.clone(), (message.to_string(),)),
        Err(error) => error,
    }
}

/// For a defect of the library, or an interpreter that is ending.
pub(crate) fn internal(py: Python<'_>, message: &'static str) -> PyErr {
    match class!(py, "InternalError") {
        Ok(class) => PyErr::from_type(class.clone(), (message,)),
        Err(_) => PyRuntimeError::new_err(message),
    }
}

pub(crate) fn is_leaseq_error(py: Python<'_>, error: &PyErr) -> bool {
    class!(py, "LeaseqError").is_ok_and(|class| error.is_instance(py, class))
}

/// Why a call failed: an error of the core, or of Python, as when the handler of a signal raises.
#[derive(Debug)]
pub(crate) enum Failure {
    Core(Error),
    Python(PyErr),
}

impl Failure {
    pub(crate) fn exception(self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Core(error) => exception(py, &error),
            Failure::Python(error) => error,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Core(error)
    }
}
