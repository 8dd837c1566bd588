//! The guards of exports without an error: no panic crosses into the caller.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::signals::without_sigpipe;

/// Runs the body of an export that cannot fail; returns `otherwise` after a panic.
pub(crate) fn value<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

/// Reads a value from a handle; `nothing` for NULL.
pub(crate) fn look<H, T: Copy>(handle: Option<&H>, nothing: T, tell: impl FnOnce(&H) -> T) -> T {
    value(nothing, || handle.map_or(nothing, tell))
}

/// Frees a handle and makes the caller's pointer NULL.
///
/// # Safety `handle` is NULL, or points to NULL or to a handle from [`give`](crate::pointer::give)
/// that nobody else uses.
pub(crate) unsafe fn free<T>(handle: *mut *mut T) {
    // SAFETY: as here.
    without_sigpipe(|| unsafe { free_at_once(handle) });
}

/// As `free`, for what writes to no connection at its end: see `status_at_once`.
///
/// # Safety
/// As for `free`.
pub(crate) unsafe fn free_at_once<T>(handle: *mut *mut T) {
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
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_the_other_value() {
        assert_eq!(value(3, || panic!("oh")), 3);
    }
}
