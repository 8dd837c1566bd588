//! Waiting for the ends of items.

use std::ffi::{c_char, c_void};

use bytes::Bytes;
use leaseq::blocking::run;
use leaseq::{Outcome, OutcomeOptions};

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::Result;
use crate::guard::{self, look};
use crate::info::{Text, first};
use crate::leasing::places;
use crate::pointer::{Out, array, duration, give, given, id, leaseq_bytes};
use crate::queue::leaseq_queue;
use crate::status::{of_one, status, status_of_each};
use crate::version::LEASEQ_WAIT_FOREVER;

/// How an item has ended.
pub struct leaseq_outcome {
    outcome: Outcome,
    error: Text,
}

/// How an item has ended.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum leaseq_end_kind {
    /// No outcome: the item has not ended.
    LEASEQ_OUTCOME_NONE = 0,
    /// It was completed.
    LEASEQ_OUTCOME_COMPLETED = 1,
    /// It failed or expired for the last time, or was buried.
    LEASEQ_OUTCOME_DEAD = 2,
    /// It was cancelled.
    LEASEQ_OUTCOME_CANCELLED = 3,
    /// It was removed or purged, or an item with another id and its unique key replaced it.
    LEASEQ_OUTCOME_REMOVED = 4,
    /// There is no such item: it was never added, or has ended without being retained, and how is
    /// not known any more.
    LEASEQ_OUTCOME_GONE = 5,
}

fn give_outcome(outcome: Option<Outcome>) -> *mut leaseq_outcome {
    outcome.map_or(std::ptr::null_mut(), |outcome| {
        let error = Text::new(outcome.error().unwrap_or_default());
        give(leaseq_outcome { outcome, error })
    })
}

pub(crate) fn options(wait_ms: i64, expect: bool) -> Result<OutcomeOptions> {
    let mut options = OutcomeOptions::new();
    if wait_ms != LEASEQ_WAIT_FOREVER {
        options.wait = Some(duration(wait_ms, "a wait")?);
    }
    options.expect = expect;
    Ok(options)
}

/// Waits until an item has ended; `*outcome` says how, with its result if it is retained. It is NULL
/// if the item has not ended within `wait_ms`: 0 looks once, `LEASEQ_WAIT_FOREVER` has no limit. If
/// there is no item with this id, the outcome is `LEASEQ_OUTCOME_GONE`, unless `expect`: then it also
/// waits for one that is not added yet. Any number of threads share two connections.
///
/// It is about the id: if the item ends and is added anew before the client has learned of it, the
/// outcome may be that of the later one. leaseq_client_cancel_waits() ends the wait, as if its time were
/// over.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an id outside 1 to 512 bytes or another negative wait; an
/// error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_outcome(
    queue: Option<&leaseq_queue>,
    id: *const c_void,
    id_len: usize,
    wait_ms: i64,
    expect: bool,
    outcome: *mut *mut leaseq_outcome,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(outcome, std::ptr::null_mut(), "outcome")?;
            let queue = given(queue, "queue")?;
            let (id, options) = (self::id(id, id_len)?, options(wait_ms, expect)?);
            let ended = run(queue.outcome_many(vec![id.to_vec()], options))?.into_iter().next();
            place.set(give_outcome(ended.transpose()?.flatten()));
            Ok(())
        })
    }
}

/// Waits until `count` items have ended; `outcomes`, an array of `count`, receives how, in the order of
/// the ids, NULL for an item that has not ended within `wait_ms`. Free each with leaseq_outcome_free().
/// `statuses`, an array of `count` or NULL, receives `LEASEQ_OK` for each, or why this item could not be
/// asked about: the outcomes of the others are not lost then. The client asks about up to 1,000 items in
/// a request, so one that fails gives its status to all of them. An invalid id makes the call fail.
/// @return as leaseq_queue_outcome(), if it is so for all items; after an error all of `outcomes` are
/// NULL, and each of `statuses` is that of the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_outcome_many(
    queue: Option<&leaseq_queue>,
    ids: *const leaseq_bytes,
    count: usize,
    wait_ms: i64,
    expect: bool,
    outcomes: *mut *mut leaseq_outcome,
    statuses: *mut leaseq_status,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status_of_each(statuses, count, error, || {
            let places = places(outcomes, count, "outcomes")?;
            let ids = array(ids, count, "ids")?;
            let queue = given(queue, "queue")?;
            let ids = ids.iter().map(|bytes| id(bytes.data, bytes.len).map(<[u8]>::to_vec));
            let ids = ids.collect::<Result<Vec<_>>>()?;
            let ended = run(queue.outcome_many(ids, options(wait_ms, expect)?))?;
            let statuses = ended.iter().map(of_one).collect();
            places.set_all(ended.into_iter().map(|ended| give_outcome(ended.ok().flatten())));
            Ok(statuses)
        })
    }
}

/// How the item has ended; `LEASEQ_OUTCOME_NONE` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_outcome_kind(outcome: Option<&leaseq_outcome>) -> leaseq_end_kind {
    look(outcome, leaseq_end_kind::LEASEQ_OUTCOME_NONE, |outcome| match outcome.outcome {
        Outcome::Completed { .. } => leaseq_end_kind::LEASEQ_OUTCOME_COMPLETED,
        Outcome::Dead { .. } => leaseq_end_kind::LEASEQ_OUTCOME_DEAD,
        Outcome::Cancelled => leaseq_end_kind::LEASEQ_OUTCOME_CANCELLED,
        Outcome::Removed => leaseq_end_kind::LEASEQ_OUTCOME_REMOVED,
        _ => leaseq_end_kind::LEASEQ_OUTCOME_GONE,
    })
}

/// Whether the item was completed and is retained. If it is not, nobody knows whether it had a result.
/// false for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_outcome_retained(outcome: Option<&leaseq_outcome>) -> bool {
    let is_retained = |of: &Outcome| matches!(of, Outcome::Completed { retained: true, .. });
    look(outcome, false, |outcome| is_retained(&outcome.outcome))
}

/// The result of a completed item: arbitrary bytes, not followed by a NUL. NULL if it had none, is not
/// retained, or has ended otherwise, and for NULL. Lives as long as `outcome`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_outcome_result(outcome: Option<&leaseq_outcome>) -> *const c_char {
    look(outcome, std::ptr::null(), |outcome| first(outcome.outcome.result()))
}

/// Number of bytes of the result.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_outcome_result_len(outcome: Option<&leaseq_outcome>) -> usize {
    look(outcome, 0, |outcome| outcome.outcome.result().map_or(0, Bytes::len))
}

/// The text of the last error of a dead item, followed by a NUL; empty for others. NULL for NULL. Lives
/// as long as `outcome`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_outcome_error(outcome: Option<&leaseq_outcome>) -> *const c_char {
    look(outcome, std::ptr::null(), |outcome| outcome.error.as_ptr())
}

/// Number of bytes of that text, without the NUL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_outcome_error_len(outcome: Option<&leaseq_outcome>) -> usize {
    look(outcome, 0, |outcome| outcome.error.len())
}

/// Frees an outcome and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_outcome_free(outcome: *mut *mut leaseq_outcome) {
    // SAFETY: made by leaseq_queue_outcome and leaseq_queue_outcome_many.
    unsafe { guard::free(outcome) }
}
