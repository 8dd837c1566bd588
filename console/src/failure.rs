//! Why a request ended without success.

use std::fmt;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use leaseq::ErrorKind;

/// Why a request ended without success. The guard makes a page of it.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    /// For people; may quote what they sent.
    pub(crate) message: String,
    /// It may work in a moment: the page tries again by itself.
    pub(crate) retry: bool,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl fmt::Display) -> Failure {
        Failure { status, message: message.to_string(), retry: false }
    }

    pub(crate) fn invalid(message: impl fmt::Display) -> Failure {
        Failure::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn missing(message: impl fmt::Display) -> Failure {
        Failure::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn refused(message: impl fmt::Display) -> Failure {
        Failure::new(StatusCode::FORBIDDEN, message)
    }

    pub(crate) fn conflict(message: impl fmt::Display) -> Failure {
        Failure::new(StatusCode::CONFLICT, message)
    }

    pub(crate) fn unknown() -> Failure {
        Failure::new(StatusCode::UNAUTHORIZED, "sign in to use the console")
    }

    pub(crate) fn unavailable(message: impl fmt::Display) -> Failure {
        Failure { retry: true, ..Failure::new(StatusCode::SERVICE_UNAVAILABLE, message) }
    }
}

impl From<leaseq::Error> for Failure {
    fn from(error: leaseq::Error) -> Failure {
        match error.kind() {
            ErrorKind::Invalid => Failure::invalid(error),
            ErrorKind::Internal => Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error),
            _ => Failure::unavailable(error),
        }
    }
}

impl From<askama::Error> for Failure {
    fn from(error: askama::Error) -> Failure {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
