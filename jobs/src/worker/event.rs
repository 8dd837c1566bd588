//! What happens to jobs, for hooks in the process.

use std::time::Duration;

use super::context::Context;
use crate::Settled;

/// Something that has happened to a job, or to the worker. Jobs that were not started, as those without a handler, are only logged.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Its handler starts.
    Started(&'a Context),
    /// Its handler has ended after this time, and this has become of the job. If it is ready again at once, the start
    /// of its next attempt may be told before.
    Ended(&'a Context, &'a Settled, Duration),
    /// The worker [leases nothing](crate::Throttle) from now on, or it leases again.
    Throttled(bool),
}

pub(super) type Hook = dyn Fn(&Event<'_>) + Send + Sync;
