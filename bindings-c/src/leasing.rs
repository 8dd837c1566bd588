//! Leasing.

use leaseq::LeaseOptions;
use leaseq::blocking::run;

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::Result;
use crate::lease::leaseq_lease;
use crate::lease_options::leaseq_lease_options;
use crate::pointer::{Out, duration, given};
use crate::queue::leaseq_queue;
use crate::status::status;
use crate::version::LEASEQ_WAIT_FOREVER;

pub(crate) fn options(
    duration_ms: i64,
    wait_ms: i64,
    options: Option<&leaseq_lease_options>,
) -> Result<LeaseOptions> {
    let mut all = LeaseOptions::new(duration(duration_ms, "a lease")?);
    if wait_ms != LEASEQ_WAIT_FOREVER {
        all.wait = Some(duration(wait_ms, "a wait")?);
    }
    all.keep_alive = options.and_then(|options| options.keep_alive.clone());
    Ok(all)
}

/// Leases the oldest ready item of the highest priority for `duration_ms`, 1 ms to 30 days. If
/// there is none, it waits for `wait_ms`: 0 does not wait, `LEASEQ_WAIT_FOREVER` has no limit.
/// `*lease` is NULL if there was none, which is not an error.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a duration outside its limits or another negative wait;
/// an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_lease(
    queue: Option<&leaseq_queue>,
    duration_ms: i64,
    wait_ms: i64,
    lease: *mut *mut leaseq_lease,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { leaseq_queue_lease_with(queue, duration_ms, wait_ms, None, lease, error) }
}

/// leaseq_queue_lease() with options; NULL for the defaults.
/// @return as leaseq_queue_lease().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_lease_with(
    queue: Option<&leaseq_queue>,
    duration_ms: i64,
    wait_ms: i64,
    options: Option<&leaseq_lease_options>,
    lease: *mut *mut leaseq_lease,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(lease, std::ptr::null_mut(), "lease")?;
            let queue = given(queue, "queue")?;
            let leased = run(queue.lease(1, self::options(duration_ms, wait_ms, options)?))?;
            place.set_all(leased.into_iter().map(leaseq_lease::give));
            Ok(())
        })
    }
}

/// Leases up to `capacity` items, at least 1: waits for the first, then takes those that are ready,
/// at most 1,000 and about 16 MiB. Then the first `*count` of `leases`, an array of `capacity`, are
/// leases, the others NULL. `options` may be NULL.
/// @return as leaseq_queue_lease(), and `LEASEQ_INVALID` for a capacity of 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_lease_many(
    queue: Option<&leaseq_queue>,
    duration_ms: i64,
    wait_ms: i64,
    options: Option<&leaseq_lease_options>,
    leases: *mut *mut leaseq_lease,
    capacity: usize,
    count: *mut usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let count = Out::one(count, 0, "count")?;
            let places = places(leases, capacity, "leases")?;
            let queue = given(queue, "queue")?;
            let options = self::options(duration_ms, wait_ms, options)?;
            let leased = run(queue.lease(capacity, options))?;
            count.set(leased.len());
            places.set_all(leased.into_iter().map(leaseq_lease::give));
            Ok(())
        })
    }
}

/// The places for handles; NULL is refused.
///
/// # Safety
/// The conventions of the header.
pub(crate) unsafe fn places<T>(
    handles: *mut *mut T,
    capacity: usize,
    name: &str,
) -> Result<Out<*mut T>> {
    given((!handles.is_null()).then_some(()), name)?;
    // SAFETY: the conventions of the header.
    unsafe { Out::many(handles, capacity, std::ptr::null_mut(), name) }
}
