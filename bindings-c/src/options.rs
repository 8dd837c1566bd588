//! Options are opaque, so that later versions can add some. The core checks their limits when they
//! are used.

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::Result;
use crate::pointer::{Out, give, given};
use crate::status::status;

/// Makes options with the defaults.
///
/// # Safety
/// `options` and `error` are NULL or may be written.
pub(crate) unsafe fn make<T: Default>(
    options: *mut *mut T,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: as above.
    unsafe {
        status(error, || {
            Out::one(options, std::ptr::null_mut(), "options")?.set(give(T::default()));
            Ok(())
        })
    }
}

/// Sets an option.
///
/// # Safety
/// `error` is NULL or may be written.
pub(crate) unsafe fn set<T>(
    options: Option<&mut T>,
    error: *mut *mut leaseq_error,
    body: impl FnOnce(&mut T) -> Result,
) -> leaseq_status {
    // SAFETY: as above.
    unsafe { status(error, || body(given(options, "options")?)) }
}
