//! Completing and leasing in one round trip.

use std::time::Duration;

use leaseq::blocking::run;

use crate::error::{leaseq_error, leaseq_status};
use crate::lease::{all, leaseq_lease};
use crate::lease_options::{leaseq_complete_options, leaseq_lease_options};
use crate::leasing::{options, places};
use crate::pointer::{Out, given};
use crate::queue::leaseq_queue;
use crate::status::status;

/// Completes `count` items, as leaseq_queue_complete_many() does, then leases up to `capacity`
/// others into `next`, as leaseq_queue_lease_many() does, in one round trip unless it has to wait.
/// Both options may be NULL. `next` must not be `leases`, whose handles must still be freed.
///
/// The items are completed at once, before the call waits for the next ones. `completed` is valid
/// even if the wait ends with an error. After any error nothing was leased, and
/// leaseq_lease_completed() says of each lease whether it was completed.
/// @return as both, and `LEASEQ_INVALID` if one of the leases is NULL: then nothing is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_complete_and_lease(
    queue: Option<&leaseq_queue>,
    leases: *const *mut leaseq_lease,
    count: usize,
    complete_options: Option<&leaseq_complete_options>,
    completed: *mut bool,
    duration_ms: i64,
    wait_ms: i64,
    lease_options: Option<&leaseq_lease_options>,
    next: *mut *mut leaseq_lease,
    capacity: usize,
    next_count: *mut usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let leases = all(leases, count);
            let next_count = Out::one(next_count, 0, "next_count")?;
            let completed = Out::many(completed, count, false, "completed")?;
            let places = places(next, capacity, "next")?;
            let (queue, leases) = (given(queue, "queue")?, leases?);
            let complete = complete_options.map(|options| options.0.clone()).unwrap_or_default();
            let wanted = options(duration_ms, wait_ms, lease_options)?;
            // Waiting is a second step: a cancelled wait must not lose the results of the
            // completion.
            let at_once = wanted.clone().wait(Duration::ZERO);
            let done = queue.run(async |queue| {
                queue.complete_and_lease_with(leases, complete, capacity, at_once).await
            })?;
            let any = done.completed.contains(&true);
            completed.set_all(done.completed);
            let mut leased = done.leases;
            if leased.is_empty() && wait_ms != 0 {
                let waited = run(queue.lease(capacity, wanted));
                leased =
                    waited.map_err(|error| if any { error.after_completing() } else { error })?;
            }
            next_count.set(leased.len());
            places.set_all(leased.into_iter().map(leaseq_lease::give));
            Ok(())
        })
    }
}
