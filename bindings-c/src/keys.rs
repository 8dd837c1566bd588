//! The limits of keys.

use std::ffi::c_void;

use leaseq::KeyInfo;
use leaseq::options::MAX_KEY;

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::Result;
use crate::pointer::{Out, array, bytes, given, leaseq_bytes, null};
use crate::queue::leaseq_queue;
use crate::status::status;

/// A limit for a key.
#[repr(C)]
pub struct leaseq_key_limit {
    /// The key, 1 to 128 arbitrary bytes.
    pub key: *const c_void,
    /// Their number.
    pub key_len: usize,
    /// How many of its items are leased at the same time, 1 to 1,000; 0: as many as the queue says.
    pub limit: u32,
}

/// A key of items, as leaseq_queue_get_keys() reads it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct leaseq_key_info {
    /// How many of its items may be leased at the same time.
    pub limit: u64,
    /// Whether the limit is its own, and not that of the queue: 1 or 0.
    pub own_limit: u64,
    /// How many of its items are leased now; more than the limit after that was lowered. Leases that
    /// have expired count until somebody leases or cleans.
    pub leased: u64,
}

impl From<KeyInfo> for leaseq_key_info {
    fn from(key: KeyInfo) -> Self {
        leaseq_key_info {
            limit: key.limit.into(),
            own_limit: key.own_limit.into(),
            leased: key.leased,
        }
    }
}

/// The bytes of a key.
///
/// # Safety
/// As for [`bytes`].
pub(crate) unsafe fn key<'a>(data: *const c_void, len: usize) -> Result<&'a [u8]> {
    // SAFETY: as for `bytes`.
    unsafe { bytes(data, len, MAX_KEY, "a key") }
}

/// Gives `count` keys limits of their own. Up to 1,000 keys change in one atomic step. A limit stays
/// when no item has its key any more. A lower limit takes no lease away: until enough of them have
/// ended, the key gets none.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a key outside 1 to 128 bytes or a limit over 1,000, and
/// nothing has changed then; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_set_key_limits(
    queue: Option<&leaseq_queue>,
    limits: *const leaseq_key_limit,
    count: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let limits = array(limits, count, "limits")?;
            let queue = given(queue, "queue")?;
            let limits = limits.iter().map(|limit| {
                let most = (limit.limit > 0).then_some(limit.limit);
                Ok((key(limit.key, limit.key_len)?, most))
            });
            let limits = limits.collect::<Result<Vec<_>>>()?;
            queue.run(async |queue| queue.set_key_limits(limits).await)
        })
    }
}

/// Reads the limits of `count` keys, and how many items of each are leased now; `infos`, an array of
/// `count`, receives them in the order of the keys. This works in steps of up to 1,000 keys.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a key outside 1 to 128 bytes; an error of every
/// operation; then all of `infos` are zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_get_keys(
    queue: Option<&leaseq_queue>,
    keys: *const leaseq_bytes,
    count: usize,
    infos: *mut leaseq_key_info,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let nothing = leaseq_key_info { limit: 0, own_limit: 0, leased: 0 };
            if infos.is_null() && count > 0 {
                return Err(null("infos"));
            }
            let infos = Out::many(infos, count, nothing, "infos")?;
            let keys = array(keys, count, "keys")?;
            let queue = given(queue, "queue")?;
            let keys = keys.iter().map(|bytes| key(bytes.data, bytes.len));
            let keys = keys.collect::<Result<Vec<_>>>()?;
            let found = queue.run(async |queue| queue.get_keys(keys).await)?;
            infos.set_all(found.into_iter().map(leaseq_key_info::from));
            Ok(())
        })
    }
}
