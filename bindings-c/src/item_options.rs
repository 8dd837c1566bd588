//! How an item is added, or revised.

use std::ffi::c_void;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leaseq::options::{MAX_PRIORITY, MAX_UNIQUE};
use leaseq::{FollowUp, Group, Item};

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::guard;
use crate::keys;
use crate::options::{make, set};
use crate::pointer::{bytes, duration, id};

/// How an item is added, or revised.
#[derive(Default)]
pub struct leaseq_item_options {
    pub(crate) id: Option<Vec<u8>>,
    pub(crate) priority: Option<u8>,
    pub(crate) delay: Option<Duration>,
    pub(crate) due_at: Option<SystemTime>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) retain: Duration,
    pub(crate) unique: Option<Vec<u8>>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) unique_for: Duration,
    pub(crate) replace: bool,
    pub(crate) successor: bool,
    pub(crate) expires_in: Option<Duration>,
    pub(crate) queue: Option<String>,
    pub(crate) follow_ups: Vec<FollowUp>,
    pub(crate) place: Option<(Group, u32)>,
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

/// Gives the item this id: 1 to 512 arbitrary bytes, which are copied. Default, also set by NULL
/// with length 0: a random UUID as text.
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
            options.id = optional_id(id, id_len)?.map(<[u8]>::to_vec);
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

/// A unique key, unless it is NULL with length 0.
///
/// # Safety
/// As for [`bytes`].
unsafe fn optional_key<'a>(data: *const c_void, len: usize) -> Result<Option<&'a [u8]>> {
    if data.is_null() && len == 0 {
        return Ok(None);
    }
    // SAFETY: as for `bytes`.
    Ok(Some(unsafe { bytes(data, len, MAX_UNIQUE, "a unique key") }?))
}

/// Priority 0 to 9; higher ones are leased first. Default: 0.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a priority outside 0 to 9.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_priority(
    options: Option<&mut leaseq_item_options>,
    priority: i32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let number = u8::try_from(priority).ok().filter(|number| *number <= MAX_PRIORITY);
            let number = number.ok_or_else(|| {
                let item = options.id.as_ref().map(|id| format!("{}: ", Item::new([]).with_id(id)));
                let item = item.unwrap_or_default();
                let limits = format_args!("is not between 0 and {MAX_PRIORITY}");
                Failure::invalid(format_args!("{item}priority {priority} {limits}"))
            })?;
            options.priority = Some(number);
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
            options.delay = Some(duration(delay_ms, "a delay")?);
            Ok(())
        })
    }
}

/// Makes the item ready at this time by the server's clock, in ms since 1970, or at once if it has
/// passed: at most 366 days ahead, and not together with a delay. Default: none.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_due_at_ms(
    options: Option<&mut leaseq_item_options>,
    due_at_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.due_at = Some(UNIX_EPOCH + Duration::from_millis(due_at_ms.max(0) as u64));
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

/// How long the item stays after its completion, in the state `LEASEQ_STATE_COMPLETED` and with its
/// result, at most 366 days. Until then its id is taken. Default: 0 ms, not at all.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_retain_ms(
    options: Option<&mut leaseq_item_options>,
    retain_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.retain = duration(retain_ms, "a retention")?;
            Ok(())
        })
    }
}

/// Gives the item this unique key: 1 to 512 arbitrary bytes, which are copied. While another item
/// that is ready, held, delayed, leased or retained has the key, the item is not added. Default, also
/// set by NULL with length 0: none.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a key over 512 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_unique(
    options: Option<&mut leaseq_item_options>,
    key: *const c_void,
    key_len: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.unique = optional_key(key, key_len)?.map(<[u8]>::to_vec);
            Ok(())
        })
    }
}

/// Gives the item this key: 1 to 128 arbitrary bytes, which are copied. No more items of a key are
/// leased at the same time than its limit allows, which is one unless it was set; the others wait,
/// and hold up no other key. Default, also set by NULL with length 0: none.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a key over 128 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_key(
    options: Option<&mut leaseq_item_options>,
    key: *const c_void,
    key_len: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            let none = key.is_null() && key_len == 0;
            options.key = if none { None } else { Some(keys::key(key, key_len)?.to_vec()) };
            Ok(())
        })
    }
}

/// How long the unique key stays taken from the add on, even if the item ends before, at most 366
/// days. Default: 0 ms, no longer than the item needs it.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_unique_for_ms(
    options: Option<&mut leaseq_item_options>,
    unique_for_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.unique_for = duration(unique_for_ms, "unique_for")?;
            Ok(())
        })
    }
}

/// Whether to replace an item that has the id or the unique key, unless it is leased. The new item
/// takes its own place in the order. Default: false, the item is not added.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_replace(
    options: Option<&mut leaseq_item_options>,
    replace: bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.replace = replace;
            Ok(())
        })
    }
}

/// With leaseq_item_options_set_replace(): if the item in the way is leased, whether this one waits and
/// takes its place when the lease ends. A later one takes the place of one that waits. Default: false,
/// the item is not added.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_successor(
    options: Option<&mut leaseq_item_options>,
    successor: bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.successor = successor;
            Ok(())
        })
    }
}

/// The item is dead after this time, 1 ms to 366 days, if it is not leased then and no attempt has
/// counted; not shorter than a delay. Default: it does not expire.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_set_expires_in_ms(
    options: Option<&mut leaseq_item_options>,
    expires_in_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.expires_in = Some(duration(expires_in_ms, "expires_in")?);
            Ok(())
        })
    }
}

/// Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_item_options_free(options: *mut *mut leaseq_item_options) {
    // SAFETY: made by leaseq_item_options_new.
    unsafe { guard::free(options) }
}
