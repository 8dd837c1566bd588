//! The errors of the core as exceptions. Their classes are written in Python.

use leaseq::{Error, ErrorKind};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::class::class;

macro_rules! error {
    ($py:expr, $name:literal) => {
        class!($py, "leaseq.exceptions", $name)
    };
}

pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::Invalid => error!(py, "InvalidError"),
        ErrorKind::LeaseLost => error!(py, "LeaseLostError"),
        ErrorKind::Unavailable => error!(py, "UnavailableError"),
        ErrorKind::Incompatible => error!(py, "IncompatibleError"),
        ErrorKind::Closed => error!(py, "ClosedError"),
        _ => error!(py, "InternalError"),
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
    match error!(py, "InvalidError") {
        Ok(class) => PyErr::from_type(class.clone(), (message.to_string(),)),
        Err(error) => error,
    }
}

/// For a defect of the library, or an interpreter that is ending.
pub(crate) fn internal(py: Python<'_>, message: &'static str) -> PyErr {
    match error!(py, "InternalError") {
        Ok(class) => PyErr::from_type(class.clone(), (message,)),
        Err(_) => PyRuntimeError::new_err(message),
    }
}

pub(crate) fn is_leaseq_error(py: Python<'_>, error: &PyErr) -> bool {
    error!(py, "LeaseqError").is_ok_and(|class| error.is_instance(py, class))
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
