//! Leasing, and what a lease tells.

use std::ffi::c_char;

use leaseq::blocking::{ProcessBound, run};
use leaseq::{Lease, LeaseOptions};

use crate::error::{leaseq_error, leaseq_status};
use crate::guard::{self, Result, look, status};
use crate::info::{Text, since_epoch};
use crate::options::leaseq_lease_options;
use crate::pointer::{Out, array, duration, give, given, ms};
use crate::queue::leaseq_queue;
use crate::version::LEASEQ_WAIT_FOREVER;

/// Whether an item was completed through a lease.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum leaseq_completed {
    /// It was not. If leaseq_lease_is_settled(), it was released or failed, or somebody else has
    /// completed or removed the item.
    LEASEQ_COMPLETED_NO = 0,
    /// It was: the item is gone, and this lease has completed it. The lease is settled too.
    LEASEQ_COMPLETED_YES = 1,
    /// Nobody knows: a call has got no answer yet, or has failed with leaseq_error_outcome_unknown().
    /// Completing it again harms nothing; leaseq_lease_is_settled() says nothing about that.
    LEASEQ_COMPLETED_UNKNOWN = 2,
}

/// A claim on one item until a deadline. Freeing it does not give the item back: the lease then runs
/// out and the item is delivered again.
pub struct leaseq_lease {
    lease: ProcessBound<Lease>,
    last_error: Text,
}

impl leaseq_lease {
    pub(crate) fn give(lease: Lease) -> *mut Self {
        let last_error = Text::new(lease.last_error());
        give(leaseq_lease { lease: ProcessBound::new(lease), last_error })
    }

    /// In the process that leased it.
    pub(crate) fn get(&self) -> Result<&Lease> {
        Ok(self.lease.get("the lease")?)
    }
}

/// The leases of an array.
///
/// # Safety
/// The conventions of the header.
pub(crate) unsafe fn all<'a>(
    leases: *const *mut leaseq_lease,
    count: usize,
) -> Result<Vec<&'a Lease>> {
    // SAFETY: the conventions of the header; NULL is `None`.
    let leases = unsafe { array(leases.cast::<Option<&leaseq_lease>>(), count, "leases") }?;
    let numbered = leases.iter().enumerate();
    numbered.map(|(at, lease)| given(*lease, &format!("leases[{at}]"))?.get()).collect()
}

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

/// Leases the oldest ready item of the highest priority for `duration_ms`, 1 ms to 30 days. Waits
/// for one for `wait_ms`: 0 does not wait, `LEASEQ_WAIT_FOREVER` waits until there is one. `*lease`
/// is NULL if there was none, which is not an error.
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

/// Leases up to `capacity` items, at least 1: waits for the first, then takes what is there, at most
/// 1,000 and about 16 MiB. The first `*count` of `leases`, an array of `capacity`, are leases then,
/// the others NULL. `options` may be NULL.
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

/// Where leases are wanted.
///
/// # Safety
/// The conventions of the header.
pub(crate) unsafe fn places(
    leases: *mut *mut leaseq_lease,
    capacity: usize,
    name: &str,
) -> Result<Out<*mut leaseq_lease>> {
    given((!leases.is_null()).then_some(()), name)?;
    // SAFETY: the conventions of the header.
    unsafe { Out::many(leases, capacity, std::ptr::null_mut(), name) }
}

/// The item's id: arbitrary bytes, no NUL behind them. NULL for NULL. Lives as long as the lease.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_id(lease: Option<&leaseq_lease>) -> *const c_char {
    ask(lease, std::ptr::null(), |lease| lease.id().as_ptr().cast())
}

/// Number of bytes of the item's id.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_id_len(lease: Option<&leaseq_lease>) -> usize {
    ask(lease, 0, |lease| lease.id().len())
}

/// The item's data: arbitrary bytes, no NUL behind them. NULL for NULL. Lives as long as the lease.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_data(lease: Option<&leaseq_lease>) -> *const c_char {
    ask(lease, std::ptr::null(), |lease| lease.data().as_ptr().cast())
}

/// Number of bytes of the item's data.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_data_len(lease: Option<&leaseq_lease>) -> usize {
    ask(lease, 0, |lease| lease.data().len())
}

/// 1 for the first delivery; 1 + failures + expiries after that. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_attempt(lease: Option<&leaseq_lease>) -> u32 {
    ask(lease, 0, Lease::attempt)
}

/// How many earlier deliveries ended with leaseq_queue_fail().
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_failures(lease: Option<&leaseq_lease>) -> u32 {
    ask(lease, 0, Lease::failures)
}

/// How many earlier deliveries ended with an expired lease.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_expiries(lease: Option<&leaseq_lease>) -> u32 {
    ask(lease, 0, Lease::expiries)
}

/// The limit of attempts; 0: there is none.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_max_attempts(lease: Option<&leaseq_lease>) -> u32 {
    ask(lease, 0, |lease| lease.max_attempts().unwrap_or(0))
}

/// Priority, 0 to 9.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_priority(lease: Option<&leaseq_lease>) -> i32 {
    ask(lease, 0, |lease| lease.priority().into())
}

/// The text of the last leaseq_queue_fail(), with a NUL behind it; empty if there was none. NULL for
/// NULL. Lives as long as the lease.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_last_error(lease: Option<&leaseq_lease>) -> *const c_char {
    look(lease, std::ptr::null(), |lease| lease.last_error.as_ptr())
}

/// Number of bytes of that text, its NUL not counted.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_last_error_len(lease: Option<&leaseq_lease>) -> usize {
    look(lease, 0, |lease| lease.last_error.len())
}

/// Generation of the item: one life of its id, from the add to the completion. It goes up with every
/// add of an id, so it can fence off writers of an earlier generation.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_generation(lease: Option<&leaseq_lease>) -> u64 {
    ask(lease, 0, Lease::generation)
}

/// When the lease expires, in ms since 1970 on the server's clock, as far as this handle knows.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_deadline_ms(lease: Option<&leaseq_lease>) -> i64 {
    ask(lease, 0, |lease| since_epoch(lease.deadline()))
}

/// Time left in ms, counted so that it never says more than the server would. 0 for NULL, and in a
/// forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_remaining_ms(lease: Option<&leaseq_lease>) -> i64 {
    look(lease, 0, |lease| lease.get().map_or(0, |lease| ms(lease.remaining())))
}

/// True once the item may belong to somebody else: the server said so, or the deadline has passed.
/// False for a lease that was completed, released or failed. True for NULL, and in a forked child:
/// the lease is its parent's. With leaseq_lease_options_set_keep_alive() it is true at once when the
/// background extension finds that the lease is lost.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_is_lost(lease: Option<&leaseq_lease>) -> bool {
    look(lease, true, |lease| lease.get().map_or(true, Lease::is_lost))
}

/// True once the item was completed, released or failed through this handle; leaseq_lease_completed()
/// says which. False for NULL, and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_is_settled(lease: Option<&leaseq_lease>) -> bool {
    look(lease, false, |lease| lease.get().is_ok_and(Lease::is_settled))
}

/// Whether a call has completed the item through this handle. After a call for many has failed, this
/// says what has become of each. `LEASEQ_COMPLETED_NO` for NULL, and `LEASEQ_COMPLETED_UNKNOWN` in a
/// forked child: the lease is its parent's.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_completed(lease: Option<&leaseq_lease>) -> leaseq_completed {
    look(lease, leaseq_completed::LEASEQ_COMPLETED_NO, |lease| {
        match lease.get().ok().and_then(Lease::completed) {
            Some(true) => leaseq_completed::LEASEQ_COMPLETED_YES,
            Some(false) => leaseq_completed::LEASEQ_COMPLETED_NO,
            None => leaseq_completed::LEASEQ_COMPLETED_UNKNOWN,
        }
    })
}

/// Frees a lease and makes the pointer NULL. NULL, and a pointer to NULL, are fine. An item that was
/// not completed, released or failed is delivered again when the lease has run out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_lease_free(lease: *mut *mut leaseq_lease) {
    // SAFETY: made by `leaseq_lease::give`.
    unsafe { guard::free(lease) }
}

/// Frees the leases of an array, and makes its pointers NULL. NULL, and NULL among them, are fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_leases_free(leases: *mut *mut leaseq_lease, count: usize) {
    guard::value((), || {
        // SAFETY: the conventions of the header; a count that cannot be frees nothing.
        let count = unsafe { array(leases, count, "leases") }.map_or(0, <[_]>::len);
        for at in 0..count {
            // SAFETY: made by `leaseq_lease::give`.
            unsafe { guard::free(leases.add(at)) };
        }
    });
}

/// What a lease tells in any process.
fn ask<T: Copy>(lease: Option<&leaseq_lease>, nothing: T, tell: impl FnOnce(&Lease) -> T) -> T {
    look(lease, nothing, |lease| lease.lease.peek().map_or(nothing, tell))
}
