//! The events of a queue.

use std::ffi::c_char;

use leaseq::EventsOptions;

use crate::client::leaseq_names;
use crate::error::{leaseq_error, leaseq_status};
use crate::pointer::{Out, duration, give, given, text};
use crate::queue::leaseq_queue;
use crate::status::status;

/// Reads what has changed in the queue, in order, if its settings keep that: at most `limit` events, 1 to 1,000, behind the
/// cursor `after`. NULL: from the oldest one that is kept; `now`: from now on. If there is none, it waits for one for `wait_ms`, and
/// looks up to four times a second. The only text of `page` is JSON: an object with `events`, a list of objects with
/// `number`, `kind` (`added`, `leased`, `completed`, `failed`, `expired`, `released`, `dead`, `requeued`, `removed`, `replaced`,
/// `cancelled`, `revised`), `at` (RFC 3339), `generation`, and `id` (`id_hex` if it is no text) and `attempt` if it has them;
/// `cursor`, behind the last of them; and `gap`, whether there were events before these that are not kept any more.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for text that is no cursor, or a value outside its limits; an error of every
/// operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_events(
    queue: Option<&leaseq_queue>,
    after: *const c_char,
    limit: usize,
    wait_ms: i64,
    page: *mut *mut leaseq_names,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(page, std::ptr::null_mut(), "page")?;
            let queue = given(queue, "queue")?;
            let after = if after.is_null() { None } else { Some(text(after, "after")?) };
            let wait = duration(wait_ms, "wait_ms")?;
            let options = EventsOptions::new().limit(limit).wait(wait);
            let page = queue.run(async |queue| queue.events_json(after, options).await)?;
            place.set(give(leaseq_names::one(page)));
            Ok(())
        })
    }
}
