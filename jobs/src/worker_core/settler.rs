//! Makes the queue do what was decided, until it has answered.

use std::sync::Arc;
use std::time::Duration;

use leaseq::{Backoff, CompleteOptions, ErrorKind, FailOptions, ReleaseOptions, Result, State};

use super::log;
use super::reason::Reason;
use super::running::Running;
use super::settlement::{Settled, Settlement, UNHANDLED};
use super::state::{Finished, Phase, Shared};

/// The longest pause between two attempts to reach the server.
const MAX_PAUSE: Duration = Duration::from_secs(2);

impl Shared {
    /// Settles a task that its caller has claimed. Completions go with the next request for jobs, as long as there is one.
    pub(super) fn settle(self: &Arc<Self>, finished: Finished) {
        let mut state = self.lock();
        if state.phase == Phase::Aborted {
            drop(state);
            finished.running.set_ended();
            return;
        }
        if let Some(at) = finished.running.stop_timer() {
            state.timers.remove(&(at, finished.running.id));
        }
        let is_completion = matches!(finished.settlement, Settlement::Complete { .. });
        if !is_completion || state.phase != Phase::Leasing {
            drop(state);
            return spawn(self, finished);
        }
        state.finished.push(finished);
        drop(state);
        self.fetch.notify_one();
    }
}

/// Settles a job in the background.
pub(super) fn spawn(shared: &Arc<Shared>, finished: Finished) {
    let (shared, runtime) = (shared.clone(), shared.runtime.clone());
    runtime.spawn(async move {
        let settled = settle(&shared, &finished).await;
        shared.end(finished, settled);
    });
}

/// Repeats the call until it is answered. Meanwhile the lease is extended, and the slot is taken, so nothing piles up
/// while the server cannot be reached.
async fn settle(shared: &Shared, finished: &Finished) -> Settled {
    let running = &finished.running;
    let mut backoff = Backoff::up_to(MAX_PAUSE);
    // A call that has failed may have been executed.
    let mut unknown = running.lease.completed().is_none();
    loop {
        let error = match call(running, &finished.settlement, unknown).await {
            Ok(settled) => return settled,
            Err(error) if error.kind() == ErrorKind::LeaseLost => return Settled::Lost,
            Err(error) => error,
        };
        if !error.kind().is_retryable() || shared.phase() == Phase::Aborted {
            log::not_settled(running, &error);
            return Settled::Lost;
        }
        unknown |= error.outcome_unknown();
        tokio::time::sleep(backoff.pause()).await;
    }
}

async fn call(running: &Running, settlement: &Settlement, unknown: bool) -> Result<Settled> {
    let (queue, lease) = (&running.queue, &running.lease);
    match settlement {
        Settlement::Complete { result } => {
            let options = match result {
                Some(result) => CompleteOptions::new().result(result.clone()),
                None => CompleteOptions::new(),
            };
            let completed = queue.complete_with(lease, options).await?;
            Ok(completion(running, completed, unknown))
        }
        Settlement::Fail { error, delay } => {
            let options = FailOptions::new().delay(*delay);
            let state = queue.fail_with(lease, error, options).await?;
            Ok(after_failure(state, error, *delay))
        }
        Settlement::Bury { error } => {
            let state = queue.fail_with(lease, error, FailOptions::new().dead()).await?;
            Ok(after_failure(state, error, Duration::ZERO))
        }
        Settlement::Release { delay, reason } => {
            let options = ReleaseOptions::new().delay(*delay).reason(*reason);
            queue.release_with(lease, options).await?;
            Ok(match running.reason() {
                Some(Reason::User) => Settled::Cancelled,
                _ => Settled::Released { delay: *delay },
            })
        }
        Settlement::Refuse { error, delay } => {
            let options = ReleaseOptions::new().delay(*delay).reason(UNHANDLED);
            queue.release_with(lease, options).await?;
            log::refused(running, error);
            Ok(Settled::Released { delay: *delay })
        }
        Settlement::GiveBack => {
            queue.release_with(lease, ReleaseOptions::new().unseen()).await?;
            Ok(Settled::Released { delay: Duration::ZERO })
        }
        Settlement::Abandon => Ok(Settled::Lost),
    }
}

/// What the answer to a completion means. False after a call whose outcome is unknown: that call has completed the
/// job, or somebody else has ended it.
pub(super) fn completion(running: &Running, completed: bool, unknown: bool) -> Settled {
    match completed || (unknown && running.lease.completed() != Some(false)) {
        true => Settled::Completed,
        false => Settled::Lost,
    }
}

fn after_failure(state: State, error: &str, delay: Duration) -> Settled {
    match state {
        State::Dead => Settled::Dead { error: error.to_owned() },
        State::Cancelled => Settled::Cancelled,
        _ => Settled::Retried { delay, error: error.to_owned() },
    }
}
