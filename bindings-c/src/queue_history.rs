//! The history of a queue.

use std::ffi::c_char;

use crate::client::leaseq_names;
use crate::error::{leaseq_error, leaseq_status};
use crate::pointer::{Out, give, given, text};
use crate::queue::leaseq_queue;
use crate::status::status;

/// Writes how the queue is now into its history, and adds what the caller has measured since its last call. Whoever
/// works on a queue calls it once a minute; the first call of a minute writes its row. `measured` is JSON: an object
/// with any of `waiting_us` (for how long items were ready), `run_us` (for how long they ran) and `lease_use` (how much
/// of their leases they used, in thousandths), each a list of pairs: a value, and how often it was measured.
/// `done`, unless NULL, receives false if there is no queue.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for other JSON; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_record_history(
    queue: Option<&leaseq_queue>,
    measured: *const c_char,
    done: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let done = Out::wanted(done, false);
            let queue = given(queue, "queue")?;
            let measured = text(measured, "measured")?;
            let recorded = queue.run(async |queue| queue.record_history_json(measured).await)?;
            done.set(recorded);
            Ok(())
        })
    }
}

/// The history of the queue, the oldest row first: `kind` is `minutes`, for a row of each minute of the last day, or
/// `hours`, for each hour of the last 31 days. The only text of `rows` is JSON: a list of objects with `at` (RFC 3339),
/// `totals`, `ready`, `delayed`, `leased`, `dead` and `held` when the minute or hour began, and what was measured in it:
/// `waiting_us`, `run_us` and `lease_use`, each with `count`, `p50`, `p90`, `p99` (null if there is nothing) and `values`.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for another kind; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_history(
    queue: Option<&leaseq_queue>,
    kind: *const c_char,
    rows: *mut *mut leaseq_names,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(rows, std::ptr::null_mut(), "rows")?;
            let queue = given(queue, "queue")?;
            let kind = text(kind, "kind")?;
            let rows = queue.run(async |queue| queue.history_json(kind).await)?;
            place.set(give(leaseq_names::one(rows)));
            Ok(())
        })
    }
}
