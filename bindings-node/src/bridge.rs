//! Between the event loop and the core: calls go over in one piece, answers come back in one piece.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::{BufferSlice, Float64ArraySlice, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Result, Status, sys};
use napi_derive::napi;
use tokio::task::unconstrained;

use crate::driver::drive;
use crate::lease::Leases;
use crate::runtime;
use crate::submission_queue::SubmissionQueue;
use crate::wire::{Answer, Outbox};

/// Weak: by itself it does not keep the process running.
type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

/// One for each event loop. When that ends, everything here does.
#[napi]
pub struct Bridge {
    shared: Arc<Shared>,
    pub(crate) submissions: Arc<SubmissionQueue>,
}

pub(crate) struct Shared {
    wake: Wake,
    outbox: Mutex<Outbox>,
}

impl Shared {
    pub(crate) fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// JavaScript is woken once for all answers that are there when it comes.
    pub(crate) fn put(&self, answers: &mut Vec<(u32, Answer)>) {
        let mut outbox = self.outbox();
        let empty = outbox.numbers.is_empty();
        for (call, answer) in answers.drain(..) {
            outbox.put(call, answer);
        }
        drop(outbox);
        if empty {
            // If the event loop is ending, nobody waits any more.
            self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

#[napi]
impl Bridge {
    /// `wake` is called when there are answers to take.
    #[napi(constructor)]
    pub fn new(wake: Function<'_, (), ()>) -> Result<Self> {
        let wake = wake
            .build_threadsafe_function::<()>()
            .callee_handled::<false>()
            .weak::<true>()
            .build()?;
        let shared = Arc::new(Shared { wake, outbox: Mutex::default() });
        let (submissions, commands) = SubmissionQueue::new();
        let runtime = runtime::handle().map_err(|e| napi::Error::from_reason(e.message))?;
        // Not in slices: what is ready now is to be answered at one go.
        runtime.spawn(unconstrained(drive(commands, shared.clone())));
        Ok(Bridge { shared, submissions: Arc::new(submissions) })
    }

    /// Sends the line on.
    #[napi]
    pub fn send(&self) {
        self.submissions.send();
    }

    /// Ends a call that waits. It is answered with "cancelled", or was answered before.
    #[napi]
    pub fn cancel(&self, call: u32) {
        self.submissions.cancel(call);
    }

    /// The answers that are there.
    #[napi(ts_return_type = "[Float64Array, Buffer, Leases[]]")]
    pub fn take<'env>(
        &self,
        env: &'env Env,
    ) -> Result<(Float64ArraySlice<'env>, BufferSlice<'env>, Vec<Leases>)> {
        let outbox = std::mem::take(&mut *self.shared.outbox());
        let holders = outbox.holders.into_iter().map(|held| Leases::new(held, env));
        Ok((
            Float64ArraySlice::from_data(env, outbox.numbers)?,
            BufferSlice::from_data(env, outbox.bytes)?,
            holders.collect::<Result<_>>()?,
        ))
    }

    /// Whether the process must not end now, because calls are pending.
    #[napi]
    pub fn hold(&self, env: &Env, hold: bool) -> Result<()> {
        let (env, wake) = (env.raw(), self.shared.wake.raw());
        // SAFETY: this is the thread of the function's event loop, which is running, and the
        // function lives as long as `wake`.
        let status = unsafe {
            match hold {
                true => sys::napi_ref_threadsafe_function(env, wake),
                false => sys::napi_unref_threadsafe_function(env, wake),
            }
        };
        match status {
            sys::Status::napi_ok => Ok(()),
            status => Err(napi::Error::new(Status::from(status), "the event loop is ending")),
        }
    }
}
