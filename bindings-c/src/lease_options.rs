//! How items are leased and completed.

use std::ffi::c_void;
use std::time::Duration;

use bytes::Bytes;
use leaseq::options::MAX_MAX_DATA;
use leaseq::{CompleteOptions, KeepAlive};

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::Result;
use crate::guard;
use crate::options::{make, set};
use crate::pointer::{array, bytes, duration, leaseq_bytes};

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

/// How long the item stays after its completion, in the state `LEASEQ_STATE_COMPLETED` and with its
/// result, at most 366 days; 0: not at all. Default: as it was added.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_complete_options_set_retain_ms(
    options: Option<&mut leaseq_complete_options>,
    retain_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.retain = Some(duration(retain_ms, "a retention")?);
            Ok(())
        })
    }
}

/// The result of a call that completes one item: arbitrary bytes, which are copied, at most as many
/// as data may have. It is kept with an item that is retained, and dropped with one that is not.
/// Default, also set by NULL with length 0: none.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or too large a result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_complete_options_set_result(
    options: Option<&mut leaseq_complete_options>,
    result: *const c_void,
    result_len: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let result = result_of(result, result_len)?;
            options.0.results = result.into_iter().map(Some).collect();
            Ok(())
        })
    }
}

/// The results of a call that completes `count` items, in the order of the leases; NULL with length
/// 0 for an item without one. Otherwise as leaseq_complete_options_set_result().
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or too large a result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_complete_options_set_results(
    options: Option<&mut leaseq_complete_options>,
    results: *const leaseq_bytes,
    count: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let results = array(results, count, "results")?.iter();
            let results = results.map(|one| result_of(one.data, one.len));
            options.0.results = results.collect::<Result<_>>()?;
            Ok(())
        })
    }
}

/// A copy of a result, unless it is NULL with length 0.
///
/// # Safety
/// As for [`bytes`].
unsafe fn result_of(data: *const c_void, len: usize) -> Result<Option<Bytes>> {
    if data.is_null() && len == 0 {
        return Ok(None);
    }
    // SAFETY: as for `bytes`.
    Ok(Some(Bytes::copy_from_slice(unsafe { bytes(data, len, MAX_MAX_DATA, "a result") }?)))
}

/// Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_complete_options_free(options: *mut *mut leaseq_complete_options) {
    // SAFETY: made by leaseq_complete_options_new.
    unsafe { guard::free(options) }
}
