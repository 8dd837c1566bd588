//! Why a command ended without success, and its exit status.

use std::fmt;
use std::io;

use leaseq::{Error, ErrorKind};
use serde_json::json;

use leaseq_report::escaped;

/// The answer is no, or there was nothing.
pub(crate) const NO: u8 = 1;
/// A usage error, or a server that cannot be reached.
pub(crate) const USAGE: u8 = 2;
/// Partly done, or the outcome is unknown.
pub(crate) const PARTLY: u8 = 3;
/// Refused: not confirmed, or the user lacks a right.
pub(crate) const REFUSED: u8 = 4;
/// Interrupted; it can be continued.
pub(crate) const INTERRUPTED: u8 = 130;
/// Nobody reads the output any more: what a shell reports for SIGPIPE.
pub(crate) const PIPE_CLOSED: u8 = 141;

/// How a command ended: its exit status.
pub(crate) type Ended = Result<u8, Failure>;

/// Why a command ended without success.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: u8,
    kind: &'static str,
    message: String,
    outcome_unknown: bool,
    /// How to go on.
    hint: Option<String>,
    /// What --continue takes.
    place: Option<String>,
}

impl Failure {
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Failure::new(USAGE, "INVALID", message)
    }

    pub(crate) fn no(message: impl fmt::Display) -> Self {
        Failure::new(NO, "NOT_FOUND", message)
    }

    pub(crate) fn refused(message: impl fmt::Display) -> Self {
        Failure::new(REFUSED, "REFUSED", message)
    }

    pub(crate) fn interrupted(message: impl fmt::Display) -> Self {
        Failure::new(INTERRUPTED, "INTERRUPTED", message)
    }

    fn new(status: u8, kind: &'static str, message: impl fmt::Display) -> Self {
        let message = message.to_string();
        Failure { status, kind, message, outcome_unknown: false, hint: None, place: None }
    }

    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// It can be continued here.
    pub(crate) fn continued(mut self, place: &impl fmt::Display) -> Self {
        self.place = Some(place.to_string());
        self
    }

    /// Some of the work was done before.
    pub(crate) fn partly(mut self) -> Self {
        self.status = PARTLY;
        self
    }

    /// Whether an argument, or a right of the user, is the cause.
    pub(crate) fn is_invalid(&self) -> bool {
        self.status == USAGE && self.kind == ErrorKind::Invalid.code()
    }

    /// The user lacks these rights.
    pub(crate) fn lacks(mut self, role: &str, rights: &[String]) -> Self {
        self.status = REFUSED;
        self.kind = "REFUSED";
        self.hint(format_args!(
            "the user lacks {}: this command needs the role {role} of core/docs/users.acl",
            rights.join(" ")
        ))
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// For standard error.
    pub(crate) fn shown(&self, as_json: bool) -> String {
        if as_json {
            let mut error = json!({
                "kind": self.kind,
                "message": self.message,
                "outcome_unknown": self.outcome_unknown,
                "status": self.status,
            });
            if let Some(hint) = &self.hint {
                error["hint"] = json!(hint);
            }
            if let Some(place) = &self.place {
                error["continue"] = json!(place);
            }
            return escaped(&json!({ "error": error }).to_string()).into_owned();
        }
        let mut text = format!("leaseq: {}", escaped(&self.message));
        if let Some(hint) = &self.hint {
            text.push_str("\n  ");
            text.push_str(&escaped(hint));
        }
        text
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = if error.outcome_unknown() { PARTLY } else { USAGE };
        let mut failure = Failure::new(status, error.kind().code(), &error);
        failure.outcome_unknown = error.outcome_unknown();
        failure
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let closed = error.kind() == io::ErrorKind::BrokenPipe;
        Failure::new(if closed { PIPE_CLOSED } else { USAGE }, "IO", error)
    }
}
