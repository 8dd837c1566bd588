//! Ends a worker in order.
//!
//! | time | what happens |
//! |---|---|
//! | at once | nothing more is leased; what no handler has started is released |
//! | after the grace period | the handlers that still run are cancelled |
//! | 3 s later | those that still run are killed |
//! | 0.2 s later | the jobs of the last ones are released, or failed if they hang, if the process ends with the worker |
//! | 1 s later at most | the queue has answered |
//!
//! As soon as no handler runs, the worker has ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout_at;

use super::exit::ExitReason;
use super::reason::Reason;
use super::running::Claim;
use super::settlement::decide_at_exit;
use super::state::{Finished, Phase, Shared};

/// A longer grace period is cut to this.
const MAX_GRACE: Duration = Duration::from_secs(30 * 86_400);
/// From the cancellation of handlers to their end by force.
const KILL_AFTER: Duration = Duration::from_secs(3);
/// How long a face may take to stop a handler.
const KILLING: Duration = Duration::from_millis(200);
/// How long the jobs of the last handlers may take to settle. All in all it takes less than 30 s, after which
/// Kubernetes kills.
const SETTLING: Duration = Duration::from_secs(1);

/// Begins the end, or shortens the grace period.
pub(super) fn drain(shared: &Arc<Shared>, grace: Duration, reason: ExitReason) {
    let now = Instant::now();
    let cancel_at = now + grace.min(MAX_GRACE);
    shared.stop_leasing(reason);
    let is_first = {
        let mut state = shared.lock();
        let first = state.cancel_at.is_none();
        state.cancel_at = Some(state.cancel_at.map_or(cancel_at, |before| before.min(cancel_at)));
        first && state.phase == Phase::Draining
    };
    if is_first {
        shared.runtime.spawn(end(shared.clone()));
    } else {
        shared.changed.notify_waiters();
    }
}

async fn end(shared: Arc<Shared>) {
    until_idle_or_grace_is_over(&shared).await;
    for running in shared.tasks() {
        shared.cancel(&running, Reason::Shutdown);
    }
    until_idle(&shared, KILL_AFTER).await;
    for running in shared.tasks() {
        running.kill();
    }
    until_idle(&shared, KILLING).await;
    if shared.options.owns_process {
        take_over(&shared);
    }
    until_idle(&shared, SETTLING).await;
    shared.stop();
}

/// Settles the jobs of handlers that cannot be stopped: they end with the process.
fn take_over(shared: &Arc<Shared>) {
    for running in shared.tasks() {
        if running.take_over() == Claim::Own {
            shared.lock().gave_up = true;
            let settlement = decide_at_exit(running.is_overdue(), &running.facts());
            shared.settle(Finished { running, settlement, reply: None });
        }
    }
}

async fn until_idle_or_grace_is_over(shared: &Shared) {
    loop {
        let changed = shared.changed.notified();
        let (phase, cancel_at) = {
            let state = shared.lock();
            (state.phase, state.cancel_at.unwrap_or_else(Instant::now))
        };
        if phase >= Phase::Stopped || Instant::now() >= cancel_at {
            return;
        }
        _ = timeout_at(cancel_at.into(), changed).await;
    }
}

async fn until_idle(shared: &Shared, time: Duration) {
    let end = Instant::now() + time;
    loop {
        let changed = shared.changed.notified();
        if shared.phase() >= Phase::Stopped || Instant::now() >= end {
            return;
        }
        _ = timeout_at(end.into(), changed).await;
    }
}
