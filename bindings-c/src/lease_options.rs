//! How items are leased and completed.

use std::time::Duration;

use leaseq::{CompleteOptions, KeepAlive};

use crate::error::{leaseq_error, leaseq_status};
use crate::guard;
use crate::options::{make, set};
use crate::pointer::duration;

/// How items are leased.
#[derive(Default)]
pub struct leaseq_lease_options {
    pub(crate) keep_alive: Option<KeepAlive>,
}

/// How items are completed.
#[derive(Default)]
pub struct leaseq_complete_options(pub(crate) CompleteOptions);

/// The default options for leasing.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_lease_options_new(
    options: *mut *mut leaseq_lease_options,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { make(options, error) }
}

/// A thread of the library extends leases each time a third of their duration has passed, until
/// they are completed, released, failed, freed or lost, or until `limit_ms` after they were given
/// (0: no limit; not shorter than the lease). Default: no extension.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_lease_options_set_keep_alive(
    options: Option<&mut leaseq_lease_options>,
    limit_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let keep = match duration(limit_ms, "a limit")? {
                Duration::ZERO => KeepAlive::new(),
                limit => KeepAlive::new().limit(limit),
            };
            options.keep_alive = Some(keep);
            Ok(())
        })
    }
}

/// Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_lease_options_free(options: *mut *mut leaseq_lease_options) {
    // SAFETY: made by leaseq_lease_options_new.
    unsafe { guard::free(options) }
}

/// The default options for completing.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_complete_options_new(
    options: *mut *mut leaseq_complete_options,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { make(options, error) }
}

/// Whether to complete only while the lease is current: the item was neither reclaimed nor leased
/// again. Default: false, the item is completed whoever holds it by now.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_complete_options_set_strict(
    options: Option<&mut leaseq_complete_options>,
    strict: bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.strict = strict;
            Ok(())
        })
    }
}

/// Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_complete_options_free(options: *mut *mut leaseq_complete_options) {
    // SAFETY: made by leaseq_complete_options_new.
    unsafe { guard::free(options) }
}
