//! Why a call failed, before it becomes an error of the caller.

use std::any::Any;

use leaseq::ErrorKind;

/// Why a call failed; `status` makes a `leaseq_error` of it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    pub(crate) outcome_unknown: bool,
}

impl Failure {
    pub(crate) fn invalid(message: impl ToString) -> Self {
        Failure { kind: ErrorKind::Invalid, message: message.to_string(), outcome_unknown: false }
    }

    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let message = format!("a bug in the library: {}", text.unwrap_or("no details"));
        Failure { kind: ErrorKind::Internal, message, outcome_unknown: true }
    }
}

impl From<leaseq::Error> for Failure {
    fn from(error: leaseq::Error) -> Self {
        Failure {
            kind: error.kind(),
            message: error.to_string(),
            outcome_unknown: error.outcome_unknown(),
        }
    }
}

pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;
