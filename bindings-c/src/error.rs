//! Errors.

use std::ffi::{CStr, CString, c_char};

use leaseq::ErrorKind;

use crate::failure::Failure;
use crate::guard::{self, look};

/// The outcome of a call: success, or one of six kinds of error that say what to do. Messages may
/// change, kinds do not.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum leaseq_status {
    /// Success. An empty queue and an unknown item are not errors.
    LEASEQ_OK = 0,
    /// Fix the argument or the configuration. Nothing was changed.
    LEASEQ_INVALID = 1,
    /// Stop working on the item: the lease is no longer the current one.
    LEASEQ_LEASE_LOST = 2,
    /// Back off and retry. leaseq_error_outcome_unknown() says whether the operation may have been
    /// executed.
    LEASEQ_UNAVAILABLE = 3,
    /// Upgrade or reconfigure: data or a server of another version.
    LEASEQ_INCOMPATIBLE = 4,
    /// Open a new client: this one was closed.
    LEASEQ_CLOSED = 5,
    /// Report a bug, or run leaseq_queue_check(): the stored data is not as this library wrote it.
    LEASEQ_INTERNAL = 6,
}

impl From<ErrorKind> for leaseq_status {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Invalid => leaseq_status::LEASEQ_INVALID,
            ErrorKind::LeaseLost => leaseq_status::LEASEQ_LEASE_LOST,
            ErrorKind::Unavailable => leaseq_status::LEASEQ_UNAVAILABLE,
            ErrorKind::Incompatible => leaseq_status::LEASEQ_INCOMPATIBLE,
            ErrorKind::Closed => leaseq_status::LEASEQ_CLOSED,
            _ => leaseq_status::LEASEQ_INTERNAL,
        }
    }
}

pub(crate) fn status_name(status: i32) -> &'static CStr {
    match status {
        0 => c"OK",
        1 => c"INVALID",
        2 => c"LEASE_LOST",
        3 => c"UNAVAILABLE",
        4 => c"INCOMPATIBLE",
        5 => c"CLOSED",
        6 => c"INTERNAL",
        _ => c"UNKNOWN",
    }
}

/// An error: a kind that is part of the interface, and a message that is not.
pub struct leaseq_error {
    pub(crate) status: leaseq_status,
    pub(crate) message: CString,
    pub(crate) outcome_unknown: bool,
    retryable: bool,
}

impl leaseq_error {
    pub(crate) fn new(failure: Failure) -> Self {
        // A NUL would hide the rest of the message.
        let message = failure.message.replace('\0', "\\0");
        leaseq_error {
            status: failure.kind.into(),
            message: CString::new(message).unwrap_or_default(),
            outcome_unknown: failure.outcome_unknown,
            retryable: failure.kind.is_retryable(),
        }
    }
}

/// Kind of the error; `LEASEQ_OK` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_error_status(error: Option<&leaseq_error>) -> leaseq_status {
    look(error, leaseq_status::LEASEQ_OK, |error| error.status)
}

/// What went wrong, for people: UTF-8, lower case, no final dot, never a password. Empty for NULL.
/// Lives as long as the error.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_error_message(error: Option<&leaseq_error>) -> *const c_char {
    look(error, c"".as_ptr(), |error| error.message.as_ptr())
}

/// Whether the operation may have been executed although no reply arrived. False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_error_outcome_unknown(error: Option<&leaseq_error>) -> bool {
    look(error, false, |error| error.outcome_unknown)
}

/// Whether the same call may succeed later without any change. False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_error_retryable(error: Option<&leaseq_error>) -> bool {
    look(error, false, |error| error.retryable)
}

/// Frees an error and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_error_free(error: *mut *mut leaseq_error) {
    // SAFETY: `status::status` makes errors.
    unsafe { guard::free(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_the_numbers_and_names_of_the_kinds() {
        for kind in ErrorKind::ALL {
            let status = leaseq_status::from(kind) as i32;
            assert_eq!(status, i32::from(kind as u8));
            assert_eq!(status_name(status).to_str(), Ok(kind.code()));
        }
    }
}
