//! What stands between a foreign caller and whatever happens in here.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use leaseq::ErrorKind;

use crate::error::{leaseq_error, leaseq_status};
use crate::signals::without_sigpipe;

/// Why a call failed: what becomes a [`leaseq_error`].
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

    fn panicked(panic: &(dyn Any + Send)) -> Self {
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

/// Runs the body of an export, and makes a status and an error of what comes out, panics included.
///
/// # Safety
/// `error` is NULL or may be written.
pub(crate) unsafe fn status(
    error: *mut *mut leaseq_error,
    body: impl FnOnce() -> Result,
) -> leaseq_status {
    if !error.is_null() {
        // SAFETY: not NULL, so it may be written.
        unsafe { error.write(std::ptr::null_mut()) };
    }
    let failure = match without_sigpipe(|| catch_unwind(AssertUnwindSafe(body))) {
        Ok(Ok(())) => return leaseq_status::LEASEQ_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::panicked(&*panic),
    };
    let failure = leaseq_error::new(failure);
    let status = failure.status;
    if !error.is_null() {
        // SAFETY: not NULL, so it may be written.
        unsafe { error.write(Box::into_raw(Box::new(failure))) };
    }
    status
}

/// Runs the body of an export that has no error; `otherwise` after a panic.
pub(crate) fn value<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

/// What a handle tells; `nothing` for NULL.
pub(crate) fn look<H, T: Copy>(handle: Option<&H>, nothing: T, tell: impl FnOnce(&H) -> T) -> T {
    value(nothing, || handle.map_or(nothing, tell))
}

/// Frees a handle and makes the caller's pointer NULL.
///
/// # Safety
/// `handle` is NULL or points to NULL or to what [`give`](crate::pointer::give) has given and
/// nobody else uses.
pub(crate) unsafe fn free<T>(handle: *mut *mut T) {
    without_sigpipe(|| {
        value((), || {
            if handle.is_null() {
                return;
            }
            // SAFETY: not NULL, so it may be read and written.
            let taken = unsafe { handle.replace(std::ptr::null_mut()) };
            if !taken.is_null() {
                // SAFETY: it came from a Box, and the caller's pointer to it is gone.
                drop(unsafe { Box::from_raw(taken) });
            }
        })
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let mut error = std::ptr::null_mut();
        // SAFETY: a pointer of this function.
        let status = unsafe { status(&raw mut error, || panic!("at {}", 7)) };
        assert_eq!(status, leaseq_status::LEASEQ_INTERNAL);
        // SAFETY: made by the call.
        let error = unsafe { Box::from_raw(error) };
        assert_eq!(error.message.to_str(), Ok("a bug in the library: at 7"));
        assert!(error.outcome_unknown);
    }

    #[test]
    fn a_panic_needs_no_place_for_its_error() {
        // SAFETY: NULL is allowed.
        let status = unsafe { status(std::ptr::null_mut(), || panic!("oh")) };
        assert_eq!(status, leaseq_status::LEASEQ_INTERNAL);
        assert_eq!(value(3, || panic!("oh")), 3);
    }
}
