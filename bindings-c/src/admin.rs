//! Operations for operators on the queue as a whole.

use leaseq::State;

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::pointer::{Out, given};
use crate::queue::leaseq_queue;
use crate::status::status;

/// The state with this number; `LEASEQ_STATE_NONE` is refused.
pub(crate) fn state(number: i32) -> Result<State> {
    match number {
        1 => Ok(State::Ready),
        2 => Ok(State::Delayed),
        3 => Ok(State::Leased),
        4 => Ok(State::Dead),
        5 => Ok(State::Completed),
        6 => Ok(State::Cancelled),
        7 => Ok(State::Held),
        _ => Err(Failure::invalid(format_args!("{number} is not a state of an item"))),
    }
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

/// Deletes the queue: items in every state, counts, totals, settings, the pause, and its name. `*dropped` is
/// false if there was no such queue; it may be NULL. From then on holders of its leases get false
/// or `LEASEQ_LEASE_LOST`. The handle stays usable: the queue exists again as soon as an item is
/// added. Follow-ups for other queues that were not delivered yet are delivered first; with `force` they are
/// lost if that is not possible now.
/// @return `LEASEQ_OK`; `LEASEQ_UNAVAILABLE`, also if such follow-ups cannot be delivered, and then the queue
/// exists; an error of every operation, after which the queue may or may not exist: call again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_drop_queue(
    queue: Option<&leaseq_queue>,
    force: bool,
    dropped: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let dropped = Out::wanted(dropped, false);
            let queue = given(queue, "queue")?;
            let mut options = leaseq::DropOptions::new();
            options.force = force;
            dropped.set(queue.run(async |queue| queue.drop_queue_with(options).await)?);
            Ok(())
        })
    }
}
