//! Leasing for event loops: a call in the background, and a file descriptor that becomes readable
//! when it is answered.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leaseq::blocking::{self, ProcessBound};
use leaseq::{Error, Lease, LeaseOptions};
use tokio::sync::Notify;

use crate::error::{leaseq_error, leaseq_status};
use crate::event::Event;
use crate::failure::{Failure, Result};
use crate::guard::{self, look};
use crate::lease::leaseq_lease;
use crate::lease_options::leaseq_lease_options;
use crate::leasing::{options, places};
use crate::pointer::{Out, give, given};
use crate::queue::leaseq_queue;
use crate::status::status;

/// Waits for leases in the background, and notifies an event loop through a file descriptor.
pub struct leaseq_waiter(ProcessBound<Handle>);

struct Handle(Arc<Waiter>);

struct Waiter {
    queue: leaseq_queue,
    /// Set while there is an answer.
    event: Event,
    state: Mutex<State>,
    freed: Notify,
}

enum State {
    Idle,
    Waiting,
    Answered(leaseq::Result<Vec<Lease>>),
    Freed,
}

impl Waiter {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(self: &Arc<Self>, count: usize, options: LeaseOptions) -> Result {
        let mut state = self.lock();
        if !matches!(*state, State::Idle) {
            return Err(Failure::invalid("the waiter has begun already: take the answer first"));
        }
        blocking::start(self.clone().wait(count, options))?;
        *state = State::Waiting;
        Ok(())
    }

    async fn wait(self: Arc<Self>, count: usize, options: LeaseOptions) {
        let answer = tokio::select! {
            biased;
            // The core releases leases of the dropped call.
            () = self.freed.notified() => return,
            answer = self.queue.lease(count, options) => answer,
        };
        let mut state = self.lock();
        match *state {
            State::Freed => self.queue.give_back(&answer.unwrap_or_default()),
            _ => {
                *state = State::Answered(answer);
                self.event.set();
            }
        }
    }

    /// At most `most` leases of the answer; none if there is no answer yet.
    fn take(&self, most: usize) -> leaseq::Result<Vec<Lease>> {
        let mut state = self.lock();
        let mut answer = match std::mem::replace(&mut *state, State::Idle) {
            State::Answered(answer) => answer,
            other => {
                *state = other;
                return Ok(Vec::new());
            }
        };
        if let Ok(leases) = &mut answer
            && leases.len() > most
        {
            let left = leases.split_off(most);
            *state = State::Answered(Ok(left));
            return answer;
        }
        self.event.clear();
        answer
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let state = std::mem::replace(&mut *self.0.lock(), State::Freed);
        self.0.freed.notify_one();
        if let State::Answered(Ok(leases)) = state {
            self.0.queue.give_back(&leases);
        }
    }
}

impl leaseq_waiter {
    fn get(&self) -> Result<&Arc<Waiter>> {
        Ok(&self.0.get("the waiter")?.0)
    }
}

/// A waiter for leases of this queue; leaseq_waiter_begin() starts it. It may outlive the queue's
/// handle. It is for leases only: for the ends of items, an event loop runs leaseq_queue_outcome() on a
/// thread.
/// @return `LEASEQ_OK`; `LEASEQ_UNAVAILABLE` if the process has no file descriptor left;
/// `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_waiter_new(
    queue: Option<&leaseq_queue>,
    waiter: *mut *mut leaseq_waiter,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(waiter, std::ptr::null_mut(), "waiter")?;
            let queue = given(queue, "queue")?.clone();
            let waiter = Waiter {
                queue,
                event: Event::new("a waiter")?,
                state: Mutex::new(State::Idle),
                freed: Notify::new(),
            };
            place.set(give(leaseq_waiter(ProcessBound::new(Handle(Arc::new(waiter))))));
            Ok(())
        })
    }
}

/// The file descriptor for `poll`, `epoll` or `select`: readable while leaseq_waiter_take() has an
/// answer. It belongs to the waiter: do not read, write or close it. -1 for NULL and in a forked
/// child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_waiter_fd(waiter: Option<&leaseq_waiter>) -> i32 {
    look(waiter, -1, |waiter| waiter.get().map_or(-1, |waiter| waiter.event.fd()))
}

/// Starts to lease up to `count` items in the background, with the arguments of
/// leaseq_queue_lease_many(), and returns at once. The duration of a lease starts when the server
/// gives it, not when it is taken.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a duration or a wait outside its limits, or if an
/// earlier answer is still to come or to be taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_waiter_begin(
    waiter: Option<&leaseq_waiter>,
    count: usize,
    duration_ms: i64,
    wait_ms: i64,
    options: Option<&leaseq_lease_options>,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let options = self::options(duration_ms, wait_ms, options)?;
            given(waiter, "waiter")?.get()?.begin(count, options)
        })
    }
}

/// Takes the answer without waiting for it: the first `*count` of `leases`, an array of `capacity`,
/// are leases, the others NULL. There are none if there is no answer yet, or if the wait ended
/// without an item. The file descriptor stays readable while leases are left; after the last one,
/// or an error, leaseq_waiter_begin() can be called again.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for NULL or a capacity of 0; what leaseq_queue_lease_many()
/// would have returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_waiter_take(
    waiter: Option<&leaseq_waiter>,
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
            let waiter = given(waiter, "waiter")?.get()?;
            if capacity == 0 {
                return Err(Failure::invalid("a capacity of 0 leases: the least is 1"));
            }
            let taken = waiter.take(capacity).map_err(|error: Error| Failure::from(error))?;
            count.set(taken.len());
            places.set_all(taken.into_iter().map(leaseq_lease::give));
            Ok(())
        })
    }
}

/// True from leaseq_waiter_begin() until its answer is taken. False for NULL and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_waiter_has_begun(waiter: Option<&leaseq_waiter>) -> bool {
    look(waiter, false, |waiter| {
        waiter.get().is_ok_and(|waiter| !matches!(*waiter.lock(), State::Idle))
    })
}

/// Frees a waiter and makes the pointer NULL. NULL and a pointer to NULL are allowed. Its
/// background call ends, and leases that were not taken are released. Remove the file descriptor
/// from the event loop first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_waiter_free(waiter: *mut *mut leaseq_waiter) {
    // SAFETY: made by leaseq_waiter_new.
    unsafe { guard::free(waiter) }
}
