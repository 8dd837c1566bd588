//! Makes the queue do what was decided, until it has answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leaseq::{Backoff, CompleteOptions, ErrorKind, FailOptions, ReleaseOptions, Result, State};

use super::log;
use super::reason::Reason;
use super::running::{Claim, Running};
use super::settlement::{Settled, Settlement, UNHANDLED, instead};
use super::state::{Finished, Phase, Shared};

/// The longest pause between two attempts to reach the server.
const MAX_PAUSE: Duration = Duration::from_secs(2);

impl Shared {
    /// Settles a task that its caller has claimed. Completions go with the next request for jobs, as long as there is one.
    pub(super) fn settle(self: &Arc<Self>, finished: Finished) {
        let mut state = self.lock();
        if state.phase == Phase::Aborted {
            drop(state);
            return forget(&finished.running);
        }
        state.detach_lost(&finished.running, &self.options);
        let is_completion = matches!(finished.settlement, Settlement::Complete { .. });
        if !is_completion || state.phase != Phase::Leasing {
            drop(state);
            return spawn(self, finished);
        }
        state.mark_success(&finished.running);
        state.finished.push(finished);
        if !state.all_asked {
            self.fetch.notify_one();
        }
        self.wake_caller(&mut state);
    }
}

/// The worker was aborted: the lease expires, also if somebody keeps the task.
pub(super) fn forget(running: &Running) {
    running.lease.let_expire();
    running.set_ended();
}

/// Settles a job in the background.
pub(super) fn spawn(shared: &Arc<Shared>, finished: Finished) {
    let (shared, runtime) = (shared.clone(), shared.runtime.clone());
    runtime.spawn(async move {
        let settled = settle(&shared, &finished).await;
        shared.end(&finished.running, finished.reply, settled);
    });
}

/// Repeats the call until it is answered. Meanwhile the lease is extended, and the slot is taken as long as that
/// succeeds.
async fn settle(shared: &Shared, finished: &Finished) -> Settled {
    let running = &finished.running;
    let mut settlement = finished.settlement.clone();
    if let Settlement::Refuse { delay, .. } = &mut settlement {
        *delay = shared.lock().refusals.pace(*delay, Instant::now());
    }
    let mut backoff = Backoff::up_to(MAX_PAUSE);
    // A call that has failed may have been executed.
    let mut unknown = running.lease.completed().is_none();
    loop {
        let error = match call(shared, running, &settlement, unknown).await {
            Ok(settled) => return settled,
            Err(error) if error.kind() == ErrorKind::LeaseLost => return lost(unknown),
            Err(error) => error,
        };
        unknown |= error.outcome_unknown();
        if error.kind() == ErrorKind::Invalid
            && let Some(valid) = instead(&settlement, &error.to_string())
        {
            log::not_settled(running, &error);
            settlement = valid;
            continue;
        }
        if !error.kind().is_retryable() || shared.phase() == Phase::Aborted {
            log::not_settled(running, &error);
            return lost(unknown);
        }
        tokio::time::sleep(backoff.pause()).await;
    }
}

async fn call(
    shared: &Shared,
    running: &Running,
    settlement: &Settlement,
    unknown: bool,
) -> Result<Settled> {
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
            let is_new = shared.lock().refusals.is_new(&running.name, error);
            if is_new {
                log::refused(running, error);
            }
            Ok(Settled::Released { delay: *delay })
        }
        Settlement::Abandon => Ok(Settled::Lost),
    }
}

/// Gives tasks that were not started back to their queues, in the background. Those of a call keep their order.
pub(super) fn give_back(shared: &Arc<Shared>, tasks: Vec<Arc<Running>>) {
    for mut tasks in by_queue(tasks) {
        tasks.retain(|running| running.claim() == Claim::Own);
        if tasks.is_empty() {
            continue;
        }
        let (shared, runtime) = (shared.clone(), shared.runtime.clone());
        runtime.spawn(async move {
            let settled = release(&shared, &tasks).await;
            for (running, settled) in tasks.into_iter().zip(settled) {
                shared.end(&running, None, settled);
            }
        });
    }
}

/// The same without waiting for the answers: for tasks that the worker does not have, or no more.
pub(super) fn leave(tasks: Vec<Arc<Running>>) {
    for tasks in by_queue(tasks) {
        tasks[0].queue.give_back(tasks.iter().map(|running| &running.lease));
        for running in tasks {
            running.claim();
            running.set_ended();
        }
    }
}

fn by_queue(mut tasks: Vec<Arc<Running>>) -> Vec<Vec<Arc<Running>>> {
    tasks.sort_by_key(|running| running.queue_index);
    let same = |a: &Arc<Running>, b: &Arc<Running>| a.queue_index == b.queue_index;
    tasks.chunk_by(same).map(<[_]>::to_vec).collect()
}

/// Repeats the call until it is answered.
async fn release(shared: &Shared, tasks: &[Arc<Running>]) -> Vec<Settled> {
    let mut backoff = Backoff::up_to(MAX_PAUSE);
    let mut unknown = false;
    loop {
        let leases = tasks.iter().map(|running| &running.lease);
        let options = ReleaseOptions::new().unseen();
        let error = match tasks[0].queue.release_many_with(leases, options).await {
            Ok(released) => {
                let settled = |released: Result<()>| match released {
                    Ok(()) => Settled::Released { delay: Duration::ZERO },
                    Err(_) => lost(unknown),
                };
                return released.into_iter().map(settled).collect();
            }
            Err(error) => error,
        };
        unknown |= error.outcome_unknown();
        if !error.kind().is_retryable() || shared.phase() == Phase::Aborted {
            tasks.iter().for_each(|running| log::not_settled(running, &error));
            return vec![lost(unknown); tasks.len()];
        }
        tokio::time::sleep(backoff.pause()).await;
    }
}

/// What has become of a job whose lease has ended otherwise, or of which nothing more can be heard.
fn lost(unknown: bool) -> Settled {
    if unknown { Settled::Uncertain } else { Settled::Lost }
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
