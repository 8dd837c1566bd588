//! Timeouts of tasks, and watching them for cancellations and lost leases.

use std::sync::Arc;
use std::time::Instant;

use tokio::time::timeout;

use super::exit::ExitReason;
use super::log;
use super::reason::Reason;
use super::running::{Running, Stage};
use super::shutdown;
use super::state::Shared;

/// Ends with the worker and the last task.
pub(super) async fn run(shared: Arc<Shared>) {
    loop {
        let earlier = shared.timer.notified();
        let now = Instant::now();
        let Some((due, wake)) = take_due(&shared, now) else { return };
        for running in due {
            act(&shared, &running, now);
        }
        match wake {
            Some(wake) => tokio::select! {
                () = earlier => {}
                () = tokio::time::sleep_until(wake.into()) => {}
            },
            None => earlier.await,
        }
    }
}

/// The tasks that something is to be done about now, and when to look again. `None`: the worker has ended.
fn take_due(shared: &Shared, now: Instant) -> Option<(Vec<Arc<Running>>, Option<Instant>)> {
    let mut state = shared.lock();
    if state.is_over() {
        return None;
    }
    let mut due = Vec::new();
    while let Some(&(at, id)) = state.timers.first() {
        if at > now {
            break;
        }
        state.timers.remove(&(at, id));
        due.extend(state.tasks.get(&id).cloned());
    }
    // Those that are due get their next timer after this, and say so.
    state.timers_wake = state.timers.first().map(|(at, _)| *at);
    Some((due, state.timers_wake))
}

fn act(shared: &Arc<Shared>, running: &Arc<Running>, now: Instant) {
    let stage = {
        // A timer is set and removed under this lock only.
        let mut state = shared.lock();
        let (stage, again) = running.due(now, &shared.options);
        if let Some(at) = again {
            shared.set_timer(&mut state, at, running.id);
        }
        if stage == Some(Stage::Cancel) {
            running.cancel(Reason::Timeout);
        }
        stage
    };
    match stage {
        Some(Stage::Watch) => {
            _ = tokio::spawn(watch(shared.clone(), running.clone()));
        }
        Some(Stage::Report) => {
            _ = tokio::spawn(watch_report(shared.clone(), running.clone()));
        }
        Some(Stage::Wait) => shared.give_back_unattended(),
        Some(Stage::Kill) => running.kill(),
        Some(Stage::CountHung) => {
            let hung = shared.count_hung(running);
            log::hung(running);
            if hung >= shared.options.hung_limit() {
                shutdown::drain(shared, shared.options.grace, ExitReason::Hung);
            }
        }
        Some(Stage::GiveUp) => shutdown::drain(shared, shared.options.grace, ExitReason::Hung),
        Some(Stage::Cancel | Stage::Nothing) | None => {}
    }
}

/// Cancels the task when somebody has cancelled its job, or when its lease is lost, and kills it later.
async fn watch(shared: Arc<Shared>, running: Arc<Running>) {
    let (lease, kill_after) = (&running.lease, shared.options.kill_after);
    let watched = async {
        let cancelled = tokio::select! {
            cancelled = lease.cancelled() => cancelled,
            () = lease.lost() => false,
        };
        if cancelled {
            running.cancel(Reason::User);
            shared.withdraw_waiting(&running);
            if timeout(kill_after, lease.lost()).await.is_err() {
                running.kill();
            }
        }
        lease.lost().await;
        shared.lost(&running);
        shared.withdraw_waiting(&running);
        tokio::time::sleep(kill_after).await;
        running.kill();
    };
    tokio::select! {
        () = watched => {}
        () = running.ended() => {}
    }
}

/// Frees the slot of a task whose end was not confirmed, when its lease is lost.
async fn watch_report(shared: Arc<Shared>, running: Arc<Running>) {
    tokio::select! {
        () = running.lease.lost() => shared.lost(&running),
        () = running.ended() => {}
    }
}
