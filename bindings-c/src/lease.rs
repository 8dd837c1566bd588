//! The properties of a lease.

use std::ffi::c_char;
use std::sync::{Arc, Mutex, PoisonError};

use leaseq::Lease;
use leaseq::blocking::{self, ProcessBound};

use crate::error::{leaseq_error, leaseq_status};
use crate::event::Event;
use crate::failure::Result;
use crate::guard::{self, look};
use crate::history::{self, leaseq_ending};
use crate::info::Text;
use crate::pointer::{Out, array, give, given, ms, since_epoch};
use crate::status::status;

/// Whether an item was completed through a lease.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum leaseq_completed {
    /// It was not. If leaseq_lease_is_settled(), it was released or failed, or another caller has
    /// completed or removed the item.
    LEASEQ_COMPLETED_NO = 0,
    /// It was: this lease has completed the item, which is gone. The lease is settled too.
    LEASEQ_COMPLETED_YES = 1,
    /// Unknown: a call has no reply yet, or failed with leaseq_error_outcome_unknown(). Completing
    /// the item again is harmless; leaseq_lease_is_settled() says nothing about it.
    LEASEQ_COMPLETED_UNKNOWN = 2,
}

/// A claim on one item until a deadline. Freeing it does not release the item: the lease then
/// expires, and the item is delivered again.
pub struct leaseq_lease {
    lease: ProcessBound<Lease>,
    last_error: Text,
    reason: Text,
    /// Set when the client learns of a cancellation.
    cancelled: Mutex<Option<Arc<Event>>>,
}

impl leaseq_lease {
    pub(crate) fn give(lease: Lease) -> *mut Self {
        let last_error = Text::new(lease.last_error());
        let reason = Text::new(history::reason(lease.releases()));
        give(leaseq_lease {
            lease: ProcessBound::new(lease),
            last_error,
            reason,
            cancelled: Mutex::default(),
        })
    }

    /// The file descriptor that becomes readable when the client learns of a cancellation.
    fn cancelled_fd(&self) -> Result<i32> {
        let told = self.get()?.cancelled();
        let mut cancelled = self.cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(event) = &*cancelled {
            return Ok(event.fd());
        }
        let event = Arc::new(Event::new("a lease")?);
        let set = event.clone();
        // Ends with the lease, which it does not keep.
        blocking::start(async move {
            if told.await {
                set.set();
            }
        })?;
        Ok(cancelled.insert(event).fd())
    }

    /// The lease, in the process that leased it.
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

/// The item's id: arbitrary bytes, not followed by a NUL. NULL for NULL. Lives as long as the
/// lease.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_id(lease: Option<&leaseq_lease>) -> *const c_char {
    ask(lease, std::ptr::null(), |lease| lease.id().as_ptr().cast())
}

/// Number of bytes of the item's id.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_id_len(lease: Option<&leaseq_lease>) -> usize {
    ask(lease, 0, |lease| lease.id().len())
}

/// The item's data: arbitrary bytes, not followed by a NUL. NULL for NULL. Lives as long as the
/// lease.
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

/// The limit of attempts; 0 for no limit.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_max_attempts(lease: Option<&leaseq_lease>) -> u32 {
    ask(lease, 0, |lease| lease.max_attempts().unwrap_or(0))
}

/// The item's key: arbitrary bytes, not followed by a NUL. NULL if it has none, and for NULL. Lives as
/// long as the lease.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_key(lease: Option<&leaseq_lease>) -> *const c_char {
    let nothing = std::ptr::null();
    ask(lease, nothing, |lease| lease.key().map_or(nothing, |key| key.as_ptr().cast()))
}

/// Number of bytes of the key.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_key_len(lease: Option<&leaseq_lease>) -> usize {
    ask(lease, 0, |lease| lease.key().map_or(0, <[u8]>::len))
}

/// The id of the item whose end has added this one: arbitrary bytes, not followed by a NUL. NULL if this is no
/// follow-up that asked for it, and for NULL. Lives as long as the lease.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_trigger_id(lease: Option<&leaseq_lease>) -> *const c_char {
    let nothing = std::ptr::null();
    ask(lease, nothing, |lease| lease.trigger().map_or(nothing, |by| by.id().as_ptr().cast()))
}

/// Number of bytes of that id.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_trigger_id_len(lease: Option<&leaseq_lease>) -> usize {
    ask(lease, 0, |lease| lease.trigger().map_or(0, |by| by.id().len()))
}

/// The result of the item whose end has added this one: arbitrary bytes, not followed by a NUL. NULL if that was
/// not completed, had no result, or one of more than 64 KiB. Lives as long as the lease.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_trigger_result(lease: Option<&leaseq_lease>) -> *const c_char {
    let nothing = std::ptr::null();
    let result = |lease: &Lease| lease.trigger().and_then(|by| by.result().map(|it| it.as_ptr()));
    ask(lease, nothing, |lease| result(lease).map_or(nothing, <*const u8>::cast))
}

/// Number of bytes of that result.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_trigger_result_len(lease: Option<&leaseq_lease>) -> usize {
    let result = |lease: &Lease| lease.trigger().and_then(|by| by.result().map(|it| it.len()));
    ask(lease, 0, |lease| result(lease).unwrap_or(0))
}

/// Priority, 0 to 9.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_priority(lease: Option<&leaseq_lease>) -> i32 {
    ask(lease, 0, |lease| lease.priority().into())
}

/// The text of the last leaseq_queue_fail(), followed by a NUL; empty if there was none. NULL for
/// NULL. Lives as long as the lease.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_last_error(lease: Option<&leaseq_lease>) -> *const c_char {
    look(lease, std::ptr::null(), |lease| lease.last_error.as_ptr())
}

/// Number of bytes of that text, without the NUL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_last_error_len(lease: Option<&leaseq_lease>) -> usize {
    look(lease, 0, |lease| lease.last_error.len())
}

/// Number of the item's last leases before this one that failed or expired: at most 16, also those
/// before a requeue. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_endings(lease: Option<&leaseq_lease>) -> usize {
    ask(lease, 0, |lease| lease.endings().len())
}

/// How the lease at this index ended, from 0, the oldest first; `LEASEQ_ENDING_NONE` beyond the last
/// and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_ending(lease: Option<&leaseq_lease>, index: usize) -> leaseq_ending {
    ask(lease, leaseq_ending::LEASEQ_ENDING_NONE, |lease| history::kind_at(lease.endings(), index))
}

/// When it ended, in ms since 1970 on the server's clock; if it expired, when it was reclaimed. -1
/// beyond the last and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_ending_at_ms(lease: Option<&leaseq_lease>, index: usize) -> i64 {
    ask(lease, -1, |lease| history::ended_at(lease.endings(), index))
}

/// How often in a row the item was released for the same reason, until this lease. A release for
/// another reason, or for none, a failed and an expired lease, and a requeue begin anew. 0 if there
/// was none, and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_releases_count(lease: Option<&leaseq_lease>) -> u32 {
    ask(lease, 0, |lease| history::count(lease.releases()))
}

/// The reason of these releases, followed by a NUL; empty if there was none. NULL for NULL. Lives as
/// long as the lease.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_releases_reason(lease: Option<&leaseq_lease>) -> *const c_char {
    look(lease, std::ptr::null(), |lease| lease.reason.as_ptr())
}

/// Number of bytes of that reason, without the NUL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_releases_reason_len(lease: Option<&leaseq_lease>) -> usize {
    look(lease, 0, |lease| lease.reason.len())
}

/// When the first of these releases was, in ms since 1970 on the server's clock; -1 if there was
/// none, and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_releases_first_at_ms(lease: Option<&leaseq_lease>) -> i64 {
    ask(lease, -1, |lease| history::first_at(lease.releases()))
}

/// Generation of the item: one life of its id, from the add to the completion. It goes up with every
/// add of an id, so it can fence off writers of an earlier generation.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_generation(lease: Option<&leaseq_lease>) -> u64 {
    ask(lease, 0, Lease::generation)
}

/// For how long the item was ready before it was leased, in ms of the server's clock: since it was
/// added, revised, requeued or due, or came back because a lease has failed or expired. An item that
/// is released without a delay goes on waiting. The time in which it was held because of its key
/// counts. 0 if it was leased at once, and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_waited_ms(lease: Option<&leaseq_lease>) -> i64 {
    ask(lease, 0, |lease| ms(lease.waited()))
}

/// When the lease expires, in ms since 1970 on the server's clock, as known to this handle.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_deadline_ms(lease: Option<&leaseq_lease>) -> i64 {
    ask(lease, 0, |lease| since_epoch(lease.deadline()))
}

/// Time left in ms, never more than the server would say. 0 for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_remaining_ms(lease: Option<&leaseq_lease>) -> i64 {
    look(lease, 0, |lease| lease.get().map_or(0, |lease| ms(lease.remaining())))
}

/// True once another worker may have the item: the server said so, or the deadline has passed.
/// False for a lease that was completed, released or failed. True for NULL and in a forked child,
/// because the lease is its parent's. With leaseq_lease_options_set_keep_alive() it becomes true as
/// soon as the background extension finds that the lease is lost.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_is_lost(lease: Option<&leaseq_lease>) -> bool {
    look(lease, true, |lease| lease.get().map_or(true, Lease::is_lost))
}

/// True once the item was completed, released or failed through this handle;
/// leaseq_lease_completed() says which. False for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_is_settled(lease: Option<&leaseq_lease>) -> bool {
    look(lease, false, |lease| lease.get().is_ok_and(Lease::is_settled))
}

/// Whether a call has completed the item through this handle. After a call for many has failed,
/// this gives the outcome of each. `LEASEQ_COMPLETED_NO` for NULL, and `LEASEQ_COMPLETED_UNKNOWN`
/// in a forked child, because the lease is its parent's.
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

/// True once the client has learned that the cancellation of the item was requested
/// (leaseq_queue_cancel()). The first call returns false, and makes the client ask the server in the
/// background: every 2 s, once for all such leases of a queue. So it tells within about 4 s. The
/// lease goes on: release or fail it, which ends the item as cancelled, or complete it all the same.
/// False for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_lease_is_cancelled(lease: Option<&leaseq_lease>) -> bool {
    look(lease, false, |lease| lease.get().is_ok_and(Lease::is_cancelled))
}

/// A file descriptor for `poll`, `epoll` or `select` that becomes readable when
/// leaseq_lease_is_cancelled() becomes true, and stays so; never if the lease ends before that. The
/// first call opens it, further calls return the same. It belongs to the lease, and is closed when
/// that is freed: do not read, write or close it, and remove it from the event loop first. `*fd` is
/// -1 after an error.
/// @return `LEASEQ_OK`; `LEASEQ_UNAVAILABLE` if the process has no file descriptor or thread left;
/// `LEASEQ_INVALID` for NULL and in a forked child.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_lease_cancelled_fd(
    lease: Option<&leaseq_lease>,
    fd: *mut i32,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let fd = Out::one(fd, -1, "fd")?;
            fd.set(given(lease, "lease")?.cancelled_fd()?);
            Ok(())
        })
    }
}

/// Frees a lease and makes the pointer NULL. NULL and a pointer to NULL are allowed. An item that
/// was not completed, released or failed is delivered again when the lease expires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_lease_free(lease: *mut *mut leaseq_lease) {
    // SAFETY: made by `leaseq_lease::give`.
    unsafe { guard::free(lease) }
}

/// Frees the leases of an array and makes its pointers NULL. The array, and any of its elements,
/// may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_leases_free(leases: *mut *mut leaseq_lease, count: usize) {
    guard::value((), || {
        // SAFETY: the conventions of the header; an impossible count frees nothing.
        let count = unsafe { array(leases, count, "leases") }.map_or(0, <[_]>::len);
        for at in 0..count {
            // SAFETY: made by `leaseq_lease::give`.
            unsafe { guard::free(leases.add(at)) };
        }
    });
}

/// Reads a value that a lease has in any process.
fn ask<T: Copy>(lease: Option<&leaseq_lease>, nothing: T, tell: impl FnOnce(&Lease) -> T) -> T {
    look(lease, nothing, |lease| lease.lease.peek().map_or(nothing, tell))
}
