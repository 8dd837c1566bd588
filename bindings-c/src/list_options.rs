//! Options of a listing.

use std::ffi::{c_char, c_void};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leaseq::ListOptions;
use leaseq::options::{MAX_ID, MAX_SEARCHED};

use crate::error::{leaseq_error, leaseq_status};
use crate::guard;
use crate::options::{make, set};
use crate::pointer::{bytes, text};

/// How items are listed. An item is listed if it has all that is asked for.
#[derive(Default)]
pub struct leaseq_list_options(pub(crate) ListOptions);

/// The default options of a listing.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_list_options_new(
    options: *mut *mut leaseq_list_options,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { make(options, error) }
}

/// How many items a page has at most: 1 to 1,000, checked by the listing. Default: 100.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_list_options_set_limit(
    options: Option<&mut leaseq_list_options>,
    limit: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.limit = limit;
            Ok(())
        })
    }
}

/// The opposite order: what is leased last, or has the latest time, comes first. Default: false.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_list_options_set_reverse(
    options: Option<&mut leaseq_list_options>,
    reverse: bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.reverse = reverse;
            Ok(())
        })
    }
}

/// Only items whose time is not before this one, in ms since 1970: for ready items
/// leaseq_item_info_added_at_ms(), for others leaseq_item_info_at_ms(). Negative for the default, any
/// time.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_list_options_set_since_ms(
    options: Option<&mut leaseq_list_options>,
    since_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.since = time(since_ms);
            Ok(())
        })
    }
}

/// Only items whose time is before this one, in ms since 1970. Negative for the default, any time.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_list_options_set_until_ms(
    options: Option<&mut leaseq_list_options>,
    until_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.until = time(until_ms);
            Ok(())
        })
    }
}

fn time(ms: i64) -> Option<SystemTime> {
    Some(UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).ok()?))
}

/// Whether the data is read; without it, it is empty. Default: true.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_list_options_set_data(
    options: Option<&mut leaseq_list_options>,
    data: bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.data = data;
            Ok(())
        })
    }
}

/// Only items whose id begins with these bytes, at most 512. Default: none.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if a pointer is NULL or there are more bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_list_options_set_id_prefix(
    options: Option<&mut leaseq_list_options>,
    prefix: *const c_void,
    len: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.id_prefix = bytes(prefix, len, MAX_ID, "an id prefix")?.to_vec();
            Ok(())
        })
    }
}

/// Only items whose data contains these bytes, at most 1,024. Default: none.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if a pointer is NULL or there are more bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_list_options_set_data_contains(
    options: Option<&mut leaseq_list_options>,
    data: *const c_void,
    len: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.data_contains = bytes(data, len, MAX_SEARCHED, "data to look for")?.to_vec();
            Ok(())
        })
    }
}

/// Only items whose last error contains this text, at most 1,024 bytes, checked by the listing.
/// Default: none.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if a pointer is NULL or the text is not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_list_options_set_error_contains(
    options: Option<&mut leaseq_list_options>,
    part: *const c_char,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            text(part, "part")?.clone_into(&mut options.0.error_contains);
            Ok(())
        })
    }
}

/// Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_list_options_free(options: *mut *mut leaseq_list_options) {
    // SAFETY: made by leaseq_list_options_new.
    unsafe { guard::free(options) }
}
