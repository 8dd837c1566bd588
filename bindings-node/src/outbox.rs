//! Where answers wait for the event loop.

use std::sync::{Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::Function;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Status, sys};

use crate::wire::{Answer, ReplyBuffer};

/// Weak: it does not keep the process running by itself.
type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

/// Collects answers, and wakes the event loop once for all that are there when it looks.
pub(crate) struct Outbox {
    wake: Wake,
    replies: Mutex<ReplyBuffer>,
}

impl Outbox {
    pub(crate) fn new(wake: Function<'_, (), ()>) -> napi::Result<Outbox> {
        let wake = wake
            .build_threadsafe_function::<()>()
            .callee_handled::<false>()
            .weak::<true>()
            .build()?;
        Ok(Outbox { wake, replies: Mutex::default() })
    }

    fn replies(&self) -> MutexGuard<'_, ReplyBuffer> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, answers: &mut Vec<(u32, Answer)>) {
        let mut replies = self.replies();
        let empty = replies.numbers.is_empty();
        for (call, answer) in answers.drain(..) {
            replies.put(call, answer);
        }
        drop(replies);
        if empty {
            // Fails only when the event loop is ending, and then no call waits.
            self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    /// Removes all answers.
    pub(crate) fn take(&self) -> ReplyBuffer {
        std::mem::take(&mut *self.replies())
    }

    /// Whether the process must keep running. Only for the thread of the event loop.
    pub(crate) fn hold(&self, env: &napi::Env, hold: bool) -> napi::Result<()> {
        let (env, wake) = (env.raw(), self.wake.raw());
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
