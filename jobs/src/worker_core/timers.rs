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
            shared.cancel(running, Reason::Timeout);
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
            shared.cancel(&running, Reason::User);
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::time::Duration;

    use leaseq::{Client, Item};

    use super::*;
    use crate::worker_core::running::HUNG_AFTER;
    use crate::worker_core::state::Phase;
    use crate::worker_core::{JobStart, QueueOptions, WorkerCore, WorkerOptions};
    use crate::{Finish, JobOptions};

    async fn soon<T>(future: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_secs(20), future).await.expect("it happens in time")
    }

    /// Does what is due at this time, which may be far away.
    fn pass(shared: &Arc<Shared>, now: Instant) {
        while let Some((due, _)) = take_due(shared, now).filter(|(due, _)| !due.is_empty()) {
            due.iter().for_each(|running| act(shared, running, now));
        }
    }

    fn job() -> Item {
        Item::new(r#"{"v":1,"job":"job","args":{}}"#)
    }

    fn options() -> WorkerOptions {
        let mut options = WorkerOptions::new();
        options.queues = vec![QueueOptions::new("q")];
        options.jobs = HashMap::from([("job".to_owned(), JobOptions::new())]);
        options
    }

    #[tokio::test]
    async fn a_handler_is_given_its_time_although_the_process_was_stopped() {
        let client = Client::connect("memory:").await.unwrap();
        client.queue("q").unwrap().add_item(job()).await.unwrap();
        let options = options();
        let kill_after = options.kill_after;
        let core = WorkerCore::start(&client, options).unwrap();
        let JobStart::Start(task) = soon(core.next()).await else { panic!("it ends") };
        let shared = core.shared();
        let running = shared.tasks().remove(0);
        let mut now = task.soft_deadline();
        // Whether it is killed, and how many hang, after so much more time.
        let mut after = |time| {
            now += time;
            pass(shared, now);
            (running.is_killed(), shared.lock().hung)
        };
        let (stopped, ms) = (Duration::from_secs(3_600), Duration::from_millis(1));
        assert_eq!(after(Duration::ZERO), (false, 0));
        assert_eq!(task.cancel_reason(), Some(Reason::Timeout));
        assert_eq!(after(stopped), (false, 0));
        assert_eq!(after(kill_after - ms), (false, 0));
        assert_eq!(after(ms), (true, 0));
        for _ in 0..3 {
            assert_eq!(after(stopped), (true, 0));
        }
        assert_eq!(after(HUNG_AFTER - ms), (true, 0));
        assert_eq!(after(ms), (true, 1));
        soon(core.finish(&task, Finish::Cancelled)).await.unwrap();
    }

    #[tokio::test]
    async fn one_handler_that_hangs_for_ten_minutes_ends_the_worker() {
        let client = Client::connect("memory:").await.unwrap();
        let queue = client.queue("q").unwrap();
        queue.add_item(job()).await.unwrap();
        let mut options = options();
        // Half of them would end it at once.
        options.slots = 4;
        let kill_after = options.kill_after;
        let core = WorkerCore::start(&client, options).unwrap();
        let JobStart::Start(task) = soon(core.next()).await else { panic!("it ends") };
        let shared = core.shared();
        let running = shared.tasks().remove(0);
        let phase_at = |now| {
            pass(shared, now);
            let state = shared.lock();
            (state.phase, state.hung)
        };
        let (timeout, ms) = (task.soft_deadline(), Duration::from_millis(1));
        assert_eq!(phase_at(timeout - ms), (Phase::Leasing, 0));
        assert_eq!(task.cancel_reason(), None);
        assert_eq!(phase_at(timeout), (Phase::Leasing, 0));
        assert_eq!(task.cancel_reason(), Some(Reason::Timeout));
        assert!(!running.is_killed());
        let killed = timeout + kill_after;
        assert_eq!(phase_at(killed), (Phase::Leasing, 0));
        assert!(running.is_killed());
        assert_eq!(phase_at(killed + Duration::from_secs(1)), (Phase::Leasing, 1));
        let ten_minutes = killed + Duration::from_secs(600);
        assert_eq!(phase_at(ten_minutes - ms), (Phase::Leasing, 1));
        assert_eq!(phase_at(ten_minutes).0, Phase::Draining);
        // Nothing more starts, and a supervisor sees why.
        queue.add_item(job()).await.unwrap();
        soon(core.finish(&task, Finish::Cancelled)).await.unwrap();
        assert!(matches!(soon(core.next()).await, JobStart::Drained));
        let exit = core.exit();
        assert_eq!((exit.reason, exit.status(), exit.started), (ExitReason::Hung, 1, 1));
        assert_eq!(queue.counts().await.unwrap().ready, 1);
    }
}
