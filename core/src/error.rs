//! One error type for every operation, engine and language.

use std::fmt;

/// Result of every fallible operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

const MAY_BE_EXECUTED: &str = "; the operation may have been executed";
const NOT_EXECUTED: &str = "; nothing was executed";
const NOT_LEASED: &str = "; each lease says whether it was completed, nothing was leased";

/// What went wrong, as what the caller should do about it.
///
/// The numbers are the status codes of the C interface; 0 is success there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum ErrorKind {
    /// Fix the argument or the configuration. Nothing was changed.
    Invalid = 1,
    /// Stop working on the item: the lease is no longer the current one.
    LeaseLost = 2,
    /// Back off and retry. [`Error::outcome_unknown`] says whether the operation may have happened.
    Unavailable = 3,
    /// Upgrade or reconfigure: data or a server of another version.
    Incompatible = 4,
    /// Open a new client: this one was closed.
    Closed = 5,
    /// Report a bug, or run `check`: something is not as this library has left it.
    Internal = 6,
}

impl ErrorKind {
    /// Every kind, in the order of its number.
    pub const ALL: [ErrorKind; 6] = [
        ErrorKind::Invalid,
        ErrorKind::LeaseLost,
        ErrorKind::Unavailable,
        ErrorKind::Incompatible,
        ErrorKind::Closed,
        ErrorKind::Internal,
    ];

    /// The kind as a constant name: `INVALID`, `LEASE_LOST`, …
    pub fn code(self) -> &'static str {
        match self {
            ErrorKind::Invalid => "INVALID",
            ErrorKind::LeaseLost => "LEASE_LOST",
            ErrorKind::Unavailable => "UNAVAILABLE",
            ErrorKind::Incompatible => "INCOMPATIBLE",
            ErrorKind::Closed => "CLOSED",
            ErrorKind::Internal => "INTERNAL",
        }
    }

    /// Whether the same call may succeed later without any change.
    pub fn is_retryable(self) -> bool {
        self == ErrorKind::Unavailable
    }
}

/// An error: a kind that is part of the interface, and a message that is not.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    outcome_unknown: bool,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl fmt::Display) -> Self {
        Error { kind, message: message.to_string(), outcome_unknown: false }
    }

    /// For the crates above, which check arguments of their own.
    #[doc(hidden)]
    pub fn invalid(message: impl fmt::Display) -> Self {
        Error::new(ErrorKind::Invalid, message)
    }

    /// For the crates above, which have defects of their own.
    #[doc(hidden)]
    pub fn internal(message: impl fmt::Display) -> Self {
        Error::new(ErrorKind::Internal, message)
    }

    pub(crate) fn closed() -> Self {
        Error::new(ErrorKind::Closed, "the client is closed")
    }

    /// For a client that was opened before a fork, in the child.
    pub(crate) fn of_parent() -> Self {
        Error::invalid(
            "this client belongs to the process that this one was forked off from: connect anew",
        )
    }

    pub(crate) fn unavailable(message: impl fmt::Display, outcome_unknown: bool) -> Self {
        let outcome = if outcome_unknown { MAY_BE_EXECUTED } else { NOT_EXECUTED };
        Error {
            kind: ErrorKind::Unavailable,
            message: format!("{message}{outcome}"),
            outcome_unknown,
        }
    }

    /// The queue is not dropped, because that would lose follow-ups.
    pub(crate) fn holds_follow_ups(queue: impl fmt::Display) -> Self {
        let what = format_args!(
            "queue {queue} is not dropped: it has follow-ups for other queues that cannot be delivered now; \
             a forced drop loses them"
        );
        Error::unavailable(what, false)
    }

    /// The same, even by force: places of groups would never be filled.
    pub(crate) fn holds_reports(queue: impl fmt::Display) -> Self {
        let what = format_args!(
            "queue {queue} is not dropped: it has ends of members of groups to report, which cannot be delivered now"
        );
        Error::unavailable(what, false)
    }

    /// A defect has ended the work of a transaction, which is rolled back.
    #[cfg(feature = "sqlite")]
    pub(crate) fn panicked() -> Self {
        Error::internal(format_args!("a panic in leaseq has ended the request{NOT_EXECUTED}"))
    }

    /// A defect has ended the task that served the call.
    pub(crate) fn stopped(queue: impl fmt::Display, outcome_unknown: bool) -> Self {
        let outcome = if outcome_unknown { MAY_BE_EXECUTED } else { NOT_EXECUTED };
        let mut error = Error::internal(format_args!(
            "queue {queue}: a panic in leaseq has ended the request{outcome}"
        ));
        error.outcome_unknown = outcome_unknown;
        error
    }

    /// An earlier attempt may have executed the operation, whatever the last one has failed with.
    pub(crate) fn or_unknown(mut self, unknown: bool) -> Self {
        if unknown && !self.outcome_unknown {
            self.outcome_unknown = true;
            self.message.push_str(MAY_BE_EXECUTED);
        }
        self
    }

    /// The error of a preparation, before the operation itself was sent.
    pub(crate) fn before_execution(mut self) -> Self {
        if self.outcome_unknown {
            let message = self.message.trim_end_matches(MAY_BE_EXECUTED);
            self = Error::unavailable(message, false);
        }
        self
    }

    /// Turns the error of leasing into that of completing and leasing, when something was completed or may have
    /// been. For bindings that lease in a separate call.
    #[must_use]
    pub fn after_completing(mut self) -> Self {
        let message = self.message.strip_suffix(NOT_EXECUTED).unwrap_or(&self.message);
        self.message = format!("{message}{NOT_LEASED}");
        self
    }

    pub(crate) fn lease_lost(queue: &str, id: &[u8]) -> Self {
        Error::new(
            ErrorKind::LeaseLost,
            format_args!("queue {queue}, item {}: the lease is lost", show_id(id)),
        )
    }

    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// True if the operation may have been executed although there was no reply: for most errors of kind
    /// [`ErrorKind::Unavailable`], and for any other error that ended a request in flight.
    pub fn outcome_unknown(&self) -> bool {
        self.outcome_unknown
    }
}

/// An id for messages: escaped, and cut off after 64 bytes.
pub(crate) fn show_id(id: &[u8]) -> String {
    let cut = &id[..id.len().min(64)];
    let dots = if cut.len() < id.len() { "…" } else { "" };
    format!("\"{}{dots}\"", cut.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_numbers_of_the_contract() {
        let numbers: Vec<u8> = ErrorKind::ALL.iter().map(|kind| *kind as u8).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn ids_in_messages_are_escaped_and_cut() {
        assert_eq!(show_id(b"a\0\n"), "\"a\\x00\\n\"");
        assert!(show_id(&[b'x'; 512]).ends_with("x…\""));
    }
}
