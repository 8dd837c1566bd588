//! Operations for operators.

use std::ffi::c_void;

use leaseq::{State, WorkQueue};

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::pointer::{Out, array, given, id};
use crate::queue::leaseq_queue;
use crate::status::status;

/// Bytes that belong to the caller.
#[repr(C)]
pub struct leaseq_bytes {
    /// The first byte; may be NULL if there are none.
    pub data: *const c_void,
    /// Number of bytes.
    pub len: usize,
}

/// The state with this number; `LEASEQ_STATE_NONE` is refused.
pub(crate) fn state(number: i32) -> Result<State> {
    match number {
        1 => Ok(State::Ready),
        2 => Ok(State::Delayed),
        3 => Ok(State::Leased),
        4 => Ok(State::Dead),
        _ => Err(Failure::invalid(format_args!("{number} is not a state of an item"))),
    }
}

/// Runs an operation on one item.
///
/// # Safety
/// The conventions of the header.
unsafe fn one(
    queue: Option<&leaseq_queue>,
    id: *const c_void,
    id_len: usize,
    done: *mut bool,
    error: *mut *mut leaseq_error,
    operation: impl AsyncFnOnce(&WorkQueue, Vec<&[u8]>) -> leaseq::Result<Vec<bool>>,
) -> leaseq_status {
    let id = leaseq_bytes { data: id, len: id_len };
    // SAFETY: the conventions of the header, and `id` is one.
    unsafe { many(queue, &raw const id, 1, done, error, operation) }
}

/// Runs an operation on many items.
///
/// # Safety
/// The conventions of the header.
unsafe fn many(
    queue: Option<&leaseq_queue>,
    ids: *const leaseq_bytes,
    count: usize,
    done: *mut bool,
    error: *mut *mut leaseq_error,
    operation: impl AsyncFnOnce(&WorkQueue, Vec<&[u8]>) -> leaseq::Result<Vec<bool>>,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let ids = array(ids, count, "ids")?;
            let done = Out::many(done, count, false, "answers")?;
            let queue = given(queue, "queue")?;
            let ids = ids.iter().map(|bytes| id(bytes.data, bytes.len));
            let ids = ids.collect::<Result<Vec<_>>>()?;
            done.set_all(queue.run(async |queue| operation(queue, ids).await)?);
            Ok(())
        })
    }
}

/// Removes an item in any state. `*removed` is false if there is no item with this id; it may be
/// NULL. From then on the holder of its lease gets false or `LEASEQ_LEASE_LOST`.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes; an error of every
/// operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_remove(
    queue: Option<&leaseq_queue>,
    id: *const c_void,
    id_len: usize,
    removed: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { one(queue, id, id_len, removed, error, async |q, ids| q.remove_many(ids).await) }
}

/// Removes `count` items; `removed`, an array of `count` or NULL, receives the results in their
/// order.
/// @return as leaseq_queue_remove().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_remove_many(
    queue: Option<&leaseq_queue>,
    ids: *const leaseq_bytes,
    count: usize,
    removed: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { many(queue, ids, count, removed, error, async |q, ids| q.remove_many(ids).await) }
}

/// Makes a dead item ready again, at the back of its priority, with its count of attempts reset.
/// `*requeued` is false if the item does not exist or is not dead; it may be NULL.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes; an error of every
/// operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_requeue(
    queue: Option<&leaseq_queue>,
    id: *const c_void,
    id_len: usize,
    requeued: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { one(queue, id, id_len, requeued, error, async |q, ids| q.requeue(ids).await) }
}

/// Requeues `count` items; `requeued`, an array of `count` or NULL, receives the results in their
/// order.
/// @return as leaseq_queue_requeue().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_requeue_many(
    queue: Option<&leaseq_queue>,
    ids: *const leaseq_bytes,
    count: usize,
    requeued: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { many(queue, ids, count, requeued, error, async |q, ids| q.requeue(ids).await) }
}

/// Stops leasing from this queue, for every client, until leaseq_queue_resume(). Adding, completing
/// and reclaiming continue; calls that lease wait or return nothing.
/// @return `LEASEQ_OK`, or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_pause(
    queue: Option<&leaseq_queue>,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { status(error, || given(queue, "queue")?.run(async |queue| queue.pause().await)) }
}

/// Resumes leasing after leaseq_queue_pause(); waiting calls wake.
/// @return `LEASEQ_OK`, or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_resume(
    queue: Option<&leaseq_queue>,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { status(error, || given(queue, "queue")?.run(async |queue| queue.resume().await)) }
}

/// Removes every item that is in this ::leaseq_state when the call begins. `*removed` is their
/// number; it may be NULL. It works in steps, so that other clients can proceed.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an unknown state; an error of every operation, after
/// which some items may be removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_purge(
    queue: Option<&leaseq_queue>,
    state: i32,
    removed: *mut u64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let removed = Out::wanted(removed, 0);
            let (queue, state) = (given(queue, "queue")?, self::state(state)?);
            removed.set(queue.run(async |queue| queue.purge(state).await)?);
            Ok(())
        })
    }
}

/// Deletes the queue: items in every state, counts, totals, the pause, and its name. `*dropped` is
/// false if there was no such queue; it may be NULL. From then on holders of its leases get false
/// or `LEASEQ_LEASE_LOST`. The handle stays usable: the queue exists again as soon as an item is
/// added.
/// @return `LEASEQ_OK`, or an error of every operation, after which the queue may or may not exist:
/// call again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_drop_queue(
    queue: Option<&leaseq_queue>,
    dropped: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let dropped = Out::wanted(dropped, false);
            let queue = given(queue, "queue")?;
            dropped.set(queue.run(async |queue| queue.drop_queue().await)?);
            Ok(())
        })
    }
}
