//! Completing and extending leases, reporting progress, releasing and failing.

use std::borrow::Cow;
use std::ffi::c_void;

use leaseq::options::MAX_PROGRESS;
use leaseq::{FailOptions, ReleaseOptions, State};

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::Result;
use crate::follow_ups::{leaseq_items, read_adds};
use crate::info::state_of;
use crate::lease::{all, leaseq_lease};
use crate::lease_options::leaseq_complete_options;
use crate::pointer::{Out, array, bytes, duration, given, leaseq_bytes, reason, since_epoch};
use crate::queue::leaseq_queue;
use crate::status::{of_one, status, status_of_each};
use crate::version::leaseq_state;

/// Longest error text accepted; the core keeps its beginning.
pub(crate) const MOST_TEXT: usize = isize::MAX as usize;

/// Completes the item, which is then gone, or retained if it was added so. `*completed` is true for
/// exactly one caller. That may be a holder whose lease has expired, whatever state the item is in by
/// then; a later holder then gets false. `completed` may be NULL. The handle must still be freed.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a lease of another queue or process; an error of every
/// operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_complete(
    queue: Option<&leaseq_queue>,
    lease: Option<&leaseq_lease>,
    completed: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { leaseq_queue_complete_with(queue, lease, None, completed, error) }
}

/// leaseq_queue_complete() with options; NULL for the defaults.
/// @return as leaseq_queue_complete(), and `LEASEQ_INVALID` for an option outside its limits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_complete_with(
    queue: Option<&leaseq_queue>,
    lease: Option<&leaseq_lease>,
    options: Option<&leaseq_complete_options>,
    completed: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let completed = Out::wanted(completed, false);
            let queue = given(queue, "queue")?;
            let lease = given(lease, "lease")?.get()?;
            let options = options.map(|options| options.0.clone()).unwrap_or_default();
            completed.set(queue.run(async |queue| queue.complete_with(lease, options).await)?);
            Ok(())
        })
    }
}

/// Completes `count` items; `completed`, an array of `count` or NULL, receives the results in their
/// order. `options` may be NULL; its results, if it has any, are as many as the leases.
/// @return as leaseq_queue_complete_with(), and `LEASEQ_INVALID` if one of the leases is NULL: then
/// none is completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_complete_many(
    queue: Option<&leaseq_queue>,
    leases: *const *mut leaseq_lease,
    count: usize,
    options: Option<&leaseq_complete_options>,
    completed: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let leases = all(leases, count);
            let completed = Out::many(completed, count, false, "completed")?;
            let (queue, leases) = (given(queue, "queue")?, leases?);
            let options = options.map(|options| options.0.clone()).unwrap_or_default();
            let answers =
                async |queue: &leaseq::WorkQueue| queue.complete_many_with(leases, options).await;
            completed.set_all(queue.run(answers)?);
            Ok(())
        })
    }
}

/// Extends the lease: its deadline becomes the later of the old one and now + `duration_ms` (1 ms
/// to 30 days), on the server's clock. It works after the deadline too, until the item is
/// reclaimed. `*deadline_ms` is the deadline, in ms since 1970; it may be NULL.
/// @return `LEASEQ_OK`; `LEASEQ_LEASE_LOST`; `LEASEQ_INVALID` for a duration outside its limits or a
/// lease of another queue or process; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_extend(
    queue: Option<&leaseq_queue>,
    lease: Option<&leaseq_lease>,
    duration_ms: i64,
    deadline_ms: *mut i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let deadline = Out::wanted(deadline_ms, 0);
            let queue = given(queue, "queue")?;
            let lease = given(lease, "lease")?.get()?;
            let duration = duration(duration_ms, "a lease")?;
            let at = queue.run(async |queue| queue.extend(lease, duration).await)?;
            deadline.set(since_epoch(at));
            Ok(())
        })
    }
}

/// Extends `count` leases. `statuses` and `deadlines_ms`, arrays of `count` or NULL, receive
/// `LEASEQ_OK` and the deadline, or `LEASEQ_LEASE_LOST` and 0, for each.
/// @return `LEASEQ_OK`, even if leases were lost; otherwise as leaseq_queue_extend().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_extend_many(
    queue: Option<&leaseq_queue>,
    leases: *const *mut leaseq_lease,
    count: usize,
    duration_ms: i64,
    statuses: *mut leaseq_status,
    deadlines_ms: *mut i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status_of_each(statuses, count, error, || {
            let leases = all(leases, count);
            let deadlines = Out::many(deadlines_ms, count, 0, "deadlines_ms")?;
            let (queue, leases) = (given(queue, "queue")?, leases?);
            let duration = duration(duration_ms, "a lease")?;
            let answers = queue.run(async |queue| queue.extend_many(leases, duration).await)?;
            let at = |answer: &leaseq::Result<_>| answer.as_ref().map_or(0, |at| since_epoch(*at));
            deadlines.set_all(answers.iter().map(at));
            Ok(answers.iter().map(of_one).collect())
        })
    }
}

/// Stores how far the work on the item has come, for leaseq_queue_get() and leaseq_queue_list():
/// up to 1,024 arbitrary bytes, which are copied. They replace what earlier holders stored, and stay
/// when the lease ends, until the item is completed or gone.
///
/// Call it as often as you like. The first value of a lease is stored when the call returns. Later
/// ones wait if the client has sent one within the last second, and the call returns at once; when
/// the second is over, the last value of each lease is sent. leaseq_queue_fail() and
/// leaseq_queue_release() send what waits, leaseq_queue_complete() drops it.
/// @return `LEASEQ_OK`; `LEASEQ_LEASE_LOST`, perhaps only in a later call; `LEASEQ_INVALID` for more
/// than 1,024 bytes or a lease of another queue or process; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_set_progress(
    queue: Option<&leaseq_queue>,
    lease: Option<&leaseq_lease>,
    progress: *const c_void,
    progress_len: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let queue = given(queue, "queue")?;
            let lease = given(lease, "lease")?.get()?;
            let progress = bytes(progress, progress_len, MAX_PROGRESS, "progress")?.to_vec();
            queue.run(async |queue| queue.set_progress(lease, progress).await)
        })
    }
}

/// Releases the item without counting an attempt. It returns to the front of its priority, at once
/// or after `delay_ms`, at most 366 days. The reason, UTF-8 of up to 128 bytes without a NUL at the
/// end, is kept with the item, with how often in a row it was given and when first; NULL with
/// length 0 for no reason.
/// @return `LEASEQ_OK`; `LEASEQ_LEASE_LOST`; `LEASEQ_INVALID` for a delay or a reason outside its
/// limits, a reason that is not UTF-8, or a lease of another queue or process; an error of every
/// operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_release(
    queue: Option<&leaseq_queue>,
    lease: Option<&leaseq_lease>,
    delay_ms: i64,
    reason: *const c_void,
    reason_len: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let queue = given(queue, "queue")?;
            let lease = given(lease, "lease")?.get()?;
            let options = release_options(delay_ms, reason, reason_len)?;
            queue.run(async |queue| queue.release_with(lease, options).await)
        })
    }
}

/// Releases `count` items, all with the same delay and reason. `statuses`, an array of `count` or
/// NULL, receives `LEASEQ_OK` or `LEASEQ_LEASE_LOST` for each.
/// @return `LEASEQ_OK`, even if leases were lost; otherwise as leaseq_queue_release().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_release_many(
    queue: Option<&leaseq_queue>,
    leases: *const *mut leaseq_lease,
    count: usize,
    delay_ms: i64,
    reason: *const c_void,
    reason_len: usize,
    statuses: *mut leaseq_status,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status_of_each(statuses, count, error, || {
            let leases = all(leases, count);
            let (queue, leases) = (given(queue, "queue")?, leases?);
            let options = release_options(delay_ms, reason, reason_len)?;
            let answers =
                queue.run(async |queue| queue.release_many_with(leases, options).await)?;
            Ok(answers.iter().map(of_one).collect())
        })
    }
}

/// Counts a failed attempt. The item goes to the back of its priority, at once or after `delay_ms`
/// (at most 366 days), or is dead when it reaches its limit of attempts. With `dead` it is dead
/// whatever its limit; `delay_ms` must then be 0. `*state` is its new state; it may be NULL. The
/// first 1,024 bytes of the text are stored with the item; invalid UTF-8 is replaced. The text may
/// be NULL with length 0.
/// @return `LEASEQ_OK`; `LEASEQ_LEASE_LOST`; `LEASEQ_INVALID` for a delay outside its limits, a
/// delay of an item that is to be dead, or a lease of another queue or process; an error of every
/// operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_fail(
    queue: Option<&leaseq_queue>,
    lease: Option<&leaseq_lease>,
    text: *const c_void,
    text_len: usize,
    delay_ms: i64,
    dead: bool,
    state: *mut leaseq_state,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let state = Out::wanted(state, leaseq_state::LEASEQ_STATE_NONE);
            let text = kept(bytes(text, text_len, MOST_TEXT, "text")?);
            let queue = given(queue, "queue")?;
            let lease = given(lease, "lease")?.get()?;
            let options = fail_options(delay_ms, dead)?;
            let now = queue.run(async |queue| queue.fail_with(lease, &text, options).await)?;
            state.set(state_of(now));
            Ok(())
        })
    }
}

/// Counts a failed attempt of each of `count` items; `texts` is an array of `count`, or NULL for no
/// text. `adds`, an array of `count` or NULL, has for each the items that are added if this call makes its item
/// dead, or ends it as cancelled: at most 999, of 16 MiB, with different ids. `statuses` and `states`, arrays of `count` or NULL, receive `LEASEQ_OK` and the new state,
/// or `LEASEQ_LEASE_LOST` and `LEASEQ_STATE_NONE`, for each.
/// @return `LEASEQ_OK`, even if leases were lost; otherwise as leaseq_queue_fail().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_fail_many(
    queue: Option<&leaseq_queue>,
    leases: *const *mut leaseq_lease,
    texts: *const leaseq_bytes,
    adds: *const leaseq_items,
    count: usize,
    delay_ms: i64,
    dead: bool,
    statuses: *mut leaseq_status,
    states: *mut leaseq_state,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status_of_each(statuses, count, error, || {
            let leases = all(leases, count);
            let none = leaseq_state::LEASEQ_STATE_NONE;
            let states = Out::many(states, count, none, "states")?;
            let (queue, leases) = (given(queue, "queue")?, leases?);
            let mut kept_texts = vec![Cow::Borrowed(""); leases.len()];
            if !texts.is_null() {
                let texts = array(texts, count, "texts")?;
                for (place, text) in kept_texts.iter_mut().zip(texts) {
                    *place = kept(bytes(text.data, text.len, MOST_TEXT, "text")?);
                }
            }
            let options = fail_options(delay_ms, dead)?.adds(read_adds(adds, count)?);
            let failures = leases.into_iter().zip(kept_texts.iter().map(|text| &**text));
            let answers = queue.run(async |queue| queue.fail_many_with(failures, options).await)?;
            let now = |answer: &leaseq::Result<State>| {
                answer.as_ref().map_or(none, |state| state_of(*state))
            };
            states.set_all(answers.iter().map(now));
            Ok(answers.iter().map(of_one).collect())
        })
    }
}

/// # Safety
/// The conventions of the header.
unsafe fn release_options(
    delay_ms: i64,
    data: *const c_void,
    len: usize,
) -> Result<ReleaseOptions> {
    // SAFETY: the conventions of the header.
    let reason = unsafe { reason(data, len) }?;
    Ok(ReleaseOptions::new().delay(duration(delay_ms, "a delay")?).reason(reason))
}

fn fail_options(delay_ms: i64, dead: bool) -> Result<FailOptions> {
    let mut options = FailOptions::new().delay(duration(delay_ms, "a delay")?);
    options.dead = dead;
    Ok(options)
}

/// The beginning of an error text, up to the limit, as UTF-8.
pub(crate) fn kept(text: &[u8]) -> Cow<'_, str> {
    // A character split by the cut lies beyond what the core keeps.
    String::from_utf8_lossy(&text[..text.len().min(leaseq::options::MAX_ERROR_TEXT + 4)])
}
