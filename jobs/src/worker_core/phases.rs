//! From one phase of the worker to the next.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use leaseq::Error;

use super::capacity::Waiting;
use super::exit::ExitReason;
use super::reason::Reason;
use super::requests::Completions;
use super::settler;
use super::state::{Phase, Shared};
use super::{log, shutdown};

/// Runs a part of the worker in the background. If it panics, the worker ends in order, with an error.
pub(super) fn supervise(shared: &Arc<Shared>, part: impl Future<Output = ()> + Send + 'static) {
    let shared = shared.clone();
    tokio::spawn(async move {
        if AssertUnwindSafe(part).catch_unwind().await.is_ok() {
            return;
        }
        let error = Error::internal("a part of the worker has panicked");
        log::defect(&error);
        shared.lock().error.get_or_insert(error);
        shutdown::drain(&shared, shared.options.grace, ExitReason::Failed);
        // From now on those that finish are settled one by one; these had come before.
        let finished = std::mem::take(&mut shared.lock().finished);
        drop(Completions::of(&shared, finished));
    });
}

impl Shared {
    /// Leases nothing more. Releases what waits to be started.
    pub(super) fn stop_leasing(self: &Arc<Self>, reason: ExitReason) {
        let mut state = self.lock();
        if state.phase != Phase::Leasing {
            return;
        }
        state.phase = Phase::Draining;
        state.reason = reason;
        self.give_back_waiting(&mut state, Waiting::All);
        state.end_if_idle(&self.options);
        drop(state);
        self.wake_all();
    }

    /// A burst has found nothing more to lease after so many tasks had ended: it ends if nothing runs either.
    pub(super) fn end_burst(&self, ended: u64) {
        let mut state = self.lock();
        if state.phase == Phase::Leasing && state.tasks.is_empty() && state.ended == ended {
            state.phase = Phase::Stopped;
            state.reason = ExitReason::Idle;
            drop(state);
            self.wake_all();
        }
    }

    /// The worker has ended, whatever still runs.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.phase = state.phase.max(Phase::Stopped);
        drop(state);
        self.wake_all();
    }

    /// Ends at once: nothing that happens from now on is reported to the queue, and nobody extends the leases of
    /// handlers that have returned. Does nothing if the worker has ended.
    pub(super) fn abort(&self, reason: ExitReason, error: Option<Error>) {
        let mut state = self.lock();
        if state.phase >= Phase::Stopped {
            return;
        }
        state.phase = Phase::Aborted;
        state.reason = reason;
        state.error = error;
        let tasks = std::mem::take(&mut state.tasks);
        state.in_slots = 0;
        let ready = std::mem::take(&mut state.ready);
        state.aborted = tasks.values().filter(|running| running.is_open()).count() - ready.len();
        let finished = std::mem::take(&mut state.finished);
        drop(state);
        finished.iter().for_each(|finished| settler::forget(&finished.running));
        settler::leave(ready.into());
        for running in tasks.values() {
            self.cancel(running, Reason::Shutdown);
            running.kill();
        }
        self.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::time::Duration;

    use leaseq::{Client, ErrorKind, Item, WorkQueue};

    use super::*;
    use crate::worker_core::{JobStart, QueueOptions, WorkerCore, WorkerOptions};
    use crate::{Finish, JobOptions, Settled};

    async fn worker() -> (WorkQueue, WorkerCore) {
        let client = Client::connect("memory:").await.unwrap();
        let queue = client.queue("q").unwrap();
        let mut options = WorkerOptions::new();
        options.queues = vec![QueueOptions::new("q")];
        options.jobs = HashMap::from([("job".to_owned(), JobOptions::new())]);
        let core = WorkerCore::start(&client, options).unwrap();
        (queue, core)
    }

    async fn soon<T>(future: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_secs(20), future).await.expect("it happens in time")
    }

    /// A panic ends the worker, and a handler that runs reports its end all the same.
    #[tokio::test]
    async fn a_part_that_panics_ends_the_worker_with_an_error() {
        let (queue, core) = worker().await;
        let job = |_| Item::new(r#"{"v":1,"job":"job","args":{}}"#);
        queue.add_items((0..2).map(job)).await.unwrap();
        let mut tasks = Vec::new();
        for _ in 0..2 {
            let JobStart::Start(task) = soon(core.next()).await else { panic!("it ends") };
            tasks.push(task);
        }
        supervise(core.shared(), async { panic!("a defect") });
        soon(core.draining()).await;
        queue.add_items((0..1).map(job)).await.unwrap();
        for task in &tasks {
            let end = core.finish(task, Finish::Done { result: None });
            assert_eq!(soon(end).await.unwrap(), Settled::Completed);
        }
        assert!(matches!(soon(core.next()).await, JobStart::Drained));
        let exit = core.exit();
        assert_eq!((exit.reason, exit.status()), (ExitReason::Failed, 1));
        assert_eq!(exit.error.map(|error| error.kind()), Some(ErrorKind::Internal));
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.ready, counts.leased), (1, 0));
    }
}
