//! Versions, limits and names.

use std::ffi::{CStr, c_char};

use crate::error::status_name;
use crate::guard;

/// Version of the binary interface that this header describes. It increases when programs must be
/// recompiled; the shared library's soname carries it.
pub const LEASEQ_ABI_VERSION: u32 = 1;
/// A time to wait without limit.
pub const LEASEQ_WAIT_FOREVER: i64 = -1;
/// Longest id, in bytes.
pub const LEASEQ_MAX_ID: usize = 512;
/// Longest reason of a release, in bytes.
pub const LEASEQ_MAX_REASON: usize = 128;
/// Longest key, in bytes.
pub const LEASEQ_MAX_KEY: usize = 128;
/// Longest unique key, in bytes.
pub const LEASEQ_MAX_UNIQUE: usize = 512;
/// Most leases that one call gives.
pub const LEASEQ_MAX_LEASES: usize = 1000;
/// Size of the text of a random id, its NUL included.
pub const LEASEQ_NEW_ID_SIZE: usize = 37;

const _: () = {
    assert!(LEASEQ_MAX_ID == leaseq::options::MAX_ID);
    assert!(LEASEQ_MAX_REASON == leaseq::options::MAX_REASON);
    assert!(LEASEQ_MAX_KEY == leaseq::options::MAX_KEY);
    assert!(LEASEQ_MAX_UNIQUE == leaseq::options::MAX_UNIQUE);
    assert!(LEASEQ_MAX_LEASES == leaseq::options::MAX_BATCH);
    // The soname is set by build.rs.
    let [digit] = *env!("LEASEQ_ABI").as_bytes() else { panic!() };
    assert!(LEASEQ_ABI_VERSION == (digit - b'0') as u32);
};

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!(),
    };

/// State of an item; exactly one at a time.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum leaseq_state {
    /// No state: the item does not exist, or the operation returned none.
    LEASEQ_STATE_NONE = 0,
    /// Can be leased.
    LEASEQ_STATE_READY = 1,
    /// Will be ready when its delay ends.
    LEASEQ_STATE_DELAYED = 2,
    /// Leased, or expired and not yet reclaimed.
    LEASEQ_STATE_LEASED = 3,
    /// Out of attempts, or failed as dead; stays until leaseq_queue_requeue() or
    /// leaseq_queue_remove().
    LEASEQ_STATE_DEAD = 4,
    /// Completed, and kept for the time that it is retained.
    LEASEQ_STATE_COMPLETED = 5,
    /// Cancelled, and kept for the time that it is retained.
    LEASEQ_STATE_CANCELLED = 6,
    /// Would be ready, but as many items of its key are leased as may be.
    LEASEQ_STATE_HELD = 7,
}

/// Version of the binary interface of the running library; compare it with `LEASEQ_ABI_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_abi_version() -> u32 {
    guard::value(0, || LEASEQ_ABI_VERSION)
}

/// Version of the running library, like `1.2.3`. Never NULL; lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_version() -> *const c_char {
    guard::value(std::ptr::null(), || VERSION.as_ptr())
}

/// Name of a ::leaseq_status: `OK`, `INVALID`, `LEASE_LOST`, …, or `UNKNOWN`. Never NULL; lives for
/// ever.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_status_name(status: i32) -> *const c_char {
    guard::value(std::ptr::null(), || status_name(status).as_ptr())
}

/// Name of a ::leaseq_state: `none`, `ready`, `delayed`, `leased`, `dead`, `completed`, `cancelled`,
/// `held`, or `unknown`. Never NULL; lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_state_name(state: i32) -> *const c_char {
    let name = || match state {
        0 => c"none",
        1 => c"ready",
        2 => c"delayed",
        3 => c"leased",
        4 => c"dead",
        5 => c"completed",
        6 => c"cancelled",
        7 => c"held",
        _ => c"unknown",
    };
    guard::value(std::ptr::null(), || name().as_ptr())
}
