//! Options: opaque, so that there can be more of them. Their limits are the core's, and are checked
//! when they are used.

use std::ffi::{c_char, c_void};
use std::time::Duration;

use leaseq::{CompleteOptions, ConnectOptions, Item, KeepAlive};

use crate::error::{leaseq_error, leaseq_status};
use crate::guard::{self, Failure, Result, status};
use crate::pointer::{Out, duration, give, given, id, text};

/// How a client connects; what the URL says wins over what is set here.
#[derive(Default)]
pub struct leaseq_connect_options(pub(crate) ConnectOptions);

/// How an item is added.
#[derive(Default)]
pub struct leaseq_item_options {
    pub(crate) id: Option<Vec<u8>>,
    pub(crate) priority: u8,
    pub(crate) delay: Duration,
    pub(crate) max_attempts: Option<u32>,
}

/// How items are leased.
#[derive(Default)]
pub struct leaseq_lease_options {
    pub(crate) keep_alive: Option<KeepAlive>,
}

/// How items are completed.
#[derive(Default)]
pub struct leaseq_complete_options(pub(crate) CompleteOptions);

/// Hands out the defaults.
///
/// # Safety
/// `options` and `error` are NULL or may be written.
unsafe fn make<T: Default>(options: *mut *mut T, error: *mut *mut leaseq_error) -> leaseq_status {
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
unsafe fn set<T>(
    options: Option<&mut T>,
    error: *mut *mut leaseq_error,
    body: impl FnOnce(&mut T) -> Result,
) -> leaseq_status {
    // SAFETY: as above.
    unsafe { status(error, || body(given(options, "options")?)) }
}

/// The default options for connecting.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_new(
    options: *mut *mut leaseq_connect_options,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { make(options, error) }
}

/// First part of every key in Redis, `[A-Za-z0-9._-]{1,64}`. Default: `leaseq`.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or text that is not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_set_namespace(
    options: Option<&mut leaseq_connect_options>,
    name_space: *const c_char,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            text(name_space, "name_space")?.clone_into(&mut options.0.namespace);
            Ok(())
        })
    }
}

/// How long an operation is tried before it is `LEASEQ_UNAVAILABLE`: 50 ms to 10 minutes.
/// Default: 10,000 ms.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_set_timeout_ms(
    options: Option<&mut leaseq_connect_options>,
    timeout_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.timeout = duration(timeout_ms, "a timeout")?;
            Ok(())
        })
    }
}

/// How long opening one connection may take: 10 ms to 10 minutes. Default: 2,000 ms.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_set_connect_timeout_ms(
    options: Option<&mut leaseq_connect_options>,
    timeout_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.connect_timeout = duration(timeout_ms, "a connect timeout")?;
            Ok(())
        })
    }
}

/// Largest data of an item that this client adds, in bytes, at most 256 MiB. Default: 8 MiB.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_set_max_data(
    options: Option<&mut leaseq_connect_options>,
    max_data: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.max_data = max_data;
            Ok(())
        })
    }
}

/// PEM file with the certificate authorities trusted for TLS. Default: the system's.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or text that is not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_set_ca_file(
    options: Option<&mut leaseq_connect_options>,
    path: *const c_char,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.ca_file = Some(text(path, "path")?.into());
            Ok(())
        })
    }
}

/// Frees options and makes the pointer NULL. NULL, and a pointer to NULL, are fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_free(options: *mut *mut leaseq_connect_options) {
    // SAFETY: made by leaseq_connect_options_new.
    unsafe { guard::free(options) }
}

/// The default options for adding.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_new(
    options: *mut *mut leaseq_item_options,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { make(options, error) }
}

/// Gives the item this id: 1 to 512 arbitrary bytes, which are copied. Default: a random UUID as
/// text. NULL with length 0 goes back to that.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or an id over 512 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_id(
    options: Option<&mut leaseq_item_options>,
    id: *const c_void,
    id_len: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.id = self::optional_id(id, id_len)?.map(<[u8]>::to_vec);
            Ok(())
        })
    }
}

/// An id, unless it is NULL with length 0.
///
/// # Safety
/// As for [`id`].
pub(crate) unsafe fn optional_id<'a>(data: *const c_void, len: usize) -> Result<Option<&'a [u8]>> {
    if data.is_null() && len == 0 {
        return Ok(None);
    }
    // SAFETY: as for `id`.
    Ok(Some(unsafe { id(data, len) }?))
}

/// Priority 0 to 9; higher ones are leased first. Default: 0.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a priority outside 0 to 9.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_priority(
    options: Option<&mut leaseq_item_options>,
    priority: i32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    use leaseq::options::MAX_PRIORITY;
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let number = u8::try_from(priority).ok().filter(|number| *number <= MAX_PRIORITY);
            options.priority = number.ok_or_else(|| {
                let item = options.id.as_ref().map(|id| format!("{}: ", Item::new([]).with_id(id)));
                let item = item.unwrap_or_default();
                let limits = format_args!("is not between 0 and {MAX_PRIORITY}");
                Failure::invalid(format_args!("{item}priority {priority} {limits}"))
            })?;
            Ok(())
        })
    }
}

/// Makes the item ready only after this time, at most 366 days. Default: 0 ms.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_delay_ms(
    options: Option<&mut leaseq_item_options>,
    delay_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.delay = duration(delay_ms, "a delay")?;
            Ok(())
        })
    }
}

/// After this many failed or expired attempts, 1 to 65,535, the item is dead. Default: no limit.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_max_attempts(
    options: Option<&mut leaseq_item_options>,
    max_attempts: u32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.max_attempts = Some(max_attempts);
            Ok(())
        })
    }
}

/// Frees options and makes the pointer NULL. NULL, and a pointer to NULL, are fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_free(options: *mut *mut leaseq_item_options) {
    // SAFETY: made by leaseq_item_options_new.
    unsafe { guard::free(options) }
}

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

/// Has leases extended by a thread of the library, each time a third of their duration has passed,
/// until they are completed, released, failed, freed or lost, or `limit_ms` have passed since they
/// were given (0: no limit; not shorter than the lease). Default: no extension.
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

/// Frees options and makes the pointer NULL. NULL, and a pointer to NULL, are fine.
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

/// Whether to complete only while the lease is current: nobody was given the item since, and it was
/// not reclaimed. Default: false, the work is done whoever holds the item by now.
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

/// Frees options and makes the pointer NULL. NULL, and a pointer to NULL, are fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_complete_options_free(options: *mut *mut leaseq_complete_options) {
    // SAFETY: made by leaseq_complete_options_new.
    unsafe { guard::free(options) }
}
