//! The guard of every export that can fail: a status and an error, whatever happens inside.

use std::panic::{AssertUnwindSafe, catch_unwind};

use leaseq::{Error, ErrorKind};

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::pointer::Out;
use crate::signals::without_sigpipe;

/// Runs the body of an export, and turns its result, or a panic, into a status and an error.
///
/// # Safety
/// `error` is NULL or may be written.
pub(crate) unsafe fn status(
    error: *mut *mut leaseq_error,
    body: impl FnOnce() -> Result,
) -> leaseq_status {
    // SAFETY: as here.
    without_sigpipe(|| unsafe { status_at_once(error, body) })
}

/// As `status`, for a body that writes to no connection. It leaves signals as they are, which saves a call that does
/// little most of its time.
///
/// # Safety
/// As for `status`.
pub(crate) unsafe fn status_at_once(
    error: *mut *mut leaseq_error,
    body: impl FnOnce() -> Result,
) -> leaseq_status {
    if !error.is_null() {
        // SAFETY: not NULL, so it may be written.
        unsafe { error.write(std::ptr::null_mut()) };
    }
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
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

/// As `status`, for an operation on many that have statuses of their own. If it fails, each has that of the call.
///
/// # Safety
/// `error` is NULL or may be written; `statuses` is NULL, or `count` of them may be written.
pub(crate) unsafe fn status_of_each(
    statuses: *mut leaseq_status,
    count: usize,
    error: *mut *mut leaseq_error,
    body: impl FnOnce() -> Result<Vec<leaseq_status>>,
) -> leaseq_status {
    let mut each = None;
    // SAFETY: `error` as here.
    let of_all = unsafe {
        status(error, || {
            // Those of a panic.
            let places = Out::many(statuses, count, leaseq_status::LEASEQ_INTERNAL, "statuses")?;
            each = Some(places);
            let found = body()?;
            if let Some(places) = each.take() {
                places.set_all(found);
            }
            Ok(())
        })
    };
    if let Some(places) = each {
        places.set_all(std::iter::repeat_n(of_all, count));
    }
    of_all
}

/// The status of one element among many.
pub(crate) fn of_one<T>(answer: &leaseq::Result<T>) -> leaseq_status {
    answer.as_ref().err().map(Error::kind).map_or(leaseq_status::LEASEQ_OK, ErrorKind::into)
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
    fn a_panic_does_not_require_a_place_for_its_error() {
        // SAFETY: NULL is allowed.
        let status = unsafe { status(std::ptr::null_mut(), || panic!("oh")) };
        assert_eq!(status, leaseq_status::LEASEQ_INTERNAL);
    }
}
