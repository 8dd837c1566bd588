//! When calls whose deadlines pass while their request is in flight get their errors.

use std::time::{Duration, Instant};

/// A request has the latest deadline of its calls, and the engine may answer a little later. A call whose
/// own deadline is earlier by less than this gets the reply to the request, if that arrives so soon after
/// the latest deadline. Any other call gets an error at its own deadline.
pub(crate) const GRACE: Duration = Duration::from_millis(100);

/// When a call with this deadline stops waiting for a request with that deadline.
pub(super) fn end_of_wait(own: Instant, request: Instant) -> Instant {
    if own + GRACE < request { own } else { request + GRACE }
}

/// When to look for passed deadlines at the latest, while a request with this deadline is in flight: new
/// calls may queue behind it.
pub(super) fn next_check(now: Instant, request: Instant) -> Instant {
    let end = request + GRACE;
    if now < end { end } else { now + GRACE }
}

/// `None`: never returns.
pub(super) async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}
