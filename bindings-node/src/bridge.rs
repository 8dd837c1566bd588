//! Connects an event loop to the core: calls and answers cross in bulk.

use std::sync::Arc;

use napi::bindgen_prelude::{BufferSlice, Float64ArraySlice, Function};
use napi::{Env, Result};
use napi_derive::napi;
use tokio::task::unconstrained;

use crate::driver::drive;
use crate::lease::Leases;
use crate::outbox::Outbox;
use crate::submission_queue::SubmissionQueue;
use crate::wire::Outcome;

/// One for each event loop, and dropped with it.
#[napi]
pub struct Bridge {
    outbox: Arc<Outbox>,
    pub(crate) submissions: Arc<SubmissionQueue>,
}

#[napi]
impl Bridge {
    /// `wake` is called when there are answers to take.
    #[napi(constructor)]
    pub fn new(wake: Function<'_, (), ()>) -> Result<Self> {
        let outbox = Arc::new(Outbox::new(wake)?);
        let (submissions, commands) = SubmissionQueue::new();
        // Unconstrained, so that all answers that are ready go back together.
        leaseq::blocking::start(unconstrained(drive(commands, outbox.clone())))
            .map_err(|error| napi::Error::from_reason(error.to_string()))?;
        Ok(Bridge { outbox, submissions: Arc::new(submissions) })
    }

    /// Sends the calls that were made.
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
        let replies = self.outbox.take();
        let holders = replies.holders.into_iter().map(|held| Leases::new(held, env));
        Ok((
            Float64ArraySlice::from_data(env, replies.numbers)?,
            BufferSlice::from_data(env, replies.bytes)?,
            holders.collect::<Result<_>>()?,
        ))
    }

    /// Whether the process must not end now, because calls are pending.
    #[napi]
    pub fn hold(&self, env: &Env, hold: bool) -> Result<()> {
        self.outbox.hold(env, hold)
    }

    /// Answers with false when the lease is lost, and with true when the client learns that the
    /// cancellation of the item was requested; can be cancelled, which it must be if neither happens.
    #[napi]
    pub fn watch_end(&self, call: u32, holder: &Leases, index: u32) -> Result<()> {
        let lease = holder.get(index)?.clone();
        self.submissions.wait(call, async move {
            tokio::select! {
                told = lease.cancelled() => {
                    if !told {
                        lease.lost().await;
                    }
                    Ok(Outcome::Bool(told))
                }
                () = lease.lost() => Ok(Outcome::Bool(false)),
            }
        });
        Ok(())
    }
}
