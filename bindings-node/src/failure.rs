//! Errors for JavaScript: the kind as a code, and whether the outcome is known.

use std::fmt::Display;

use leaseq::{Error, ErrorKind};

#[derive(Clone)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    pub(crate) outcome_unknown: bool,
}

impl Failure {
    pub(crate) fn invalid(message: impl Display) -> Self {
        Failure::new(ErrorKind::Invalid, message)
    }

    pub(crate) fn internal(message: impl Display) -> Self {
        Failure::new(ErrorKind::Internal, message)
    }

    fn new(kind: ErrorKind, message: impl Display) -> Self {
        Failure { kind, message: message.to_string(), outcome_unknown: false }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure {
            kind: error.kind(),
            message: error.to_string(),
            outcome_unknown: error.outcome_unknown(),
        }
    }
}

/// Only synchronous functions can throw an error with its code.
impl From<Failure> for napi::Error<&'static str> {
    fn from(failure: Failure) -> Self {
        napi::Error::new(failure.kind.code(), failure.message)
    }
}
