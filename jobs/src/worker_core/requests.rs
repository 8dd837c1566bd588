//! What is under way between the fetcher and the queues.

use std::sync::Arc;
use std::time::Duration;

use leaseq::{CompleteOptions, Lease, LeaseOptions, Result, Wanted, WorkQueue};

use super::settlement::{Settled, Settlement};
use super::settler::{self, completion};
use super::state::{Finished, Phase, Shared};

/// Tasks whose jobs are to be completed in the queue. Those that were not completed when this is dropped are settled
/// one by one, whatever has become of the request.
pub(super) struct Completions {
    shared: Arc<Shared>,
    tasks: Vec<Finished>,
}

impl Completions {
    pub(super) fn new(shared: &Arc<Shared>) -> Completions {
        Completions::of(shared, Vec::new())
    }

    pub(super) fn of(shared: &Arc<Shared>, tasks: Vec<Finished>) -> Completions {
        Completions { shared: shared.clone(), tasks }
    }

    /// One more, which has succeeded.
    pub(super) fn push(&mut self, finished: Finished) {
        self.tasks.push(finished);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// All of them; none is left.
    pub(super) fn take(&mut self) -> Completions {
        let tasks = std::mem::take(&mut self.tasks);
        Completions::of(&self.shared, tasks)
    }

    fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.tasks.iter().map(|finished| &finished.running.lease)
    }

    fn options(&self) -> CompleteOptions {
        let result = |finished: &Finished| match &finished.settlement {
            Settlement::Complete { result } => result.clone(),
            _ => None,
        };
        let results: Vec<_> = self.tasks.iter().map(result).collect();
        match results.iter().any(Option::is_some) {
            true => CompleteOptions::new().results(results),
            false => CompleteOptions::new(),
        }
    }

    /// The queue has answered.
    pub(super) fn completed(mut self, completed: &[bool]) {
        let tasks = std::mem::take(&mut self.tasks);
        for (finished, completed) in tasks.into_iter().zip(completed) {
            let settled = completion(&finished.running, *completed, false);
            self.shared.end(&finished.running, finished.reply, settled);
        }
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        let tasks = std::mem::take(&mut self.tasks);
        if tasks.is_empty() {
            return;
        }
        let aborted = {
            let mut state = self.shared.lock();
            tasks.iter().for_each(|finished| state.clear_success(&finished.running));
            state.phase == Phase::Aborted
        };
        for finished in tasks {
            if aborted {
                settler::forget(&finished.running);
            } else if finished.running.lease.completed() == Some(true) {
                self.shared.end(&finished.running, finished.reply, Settled::Completed);
            } else {
                // It keeps its slot.
                settler::spawn(&self.shared, finished);
            }
        }
    }
}

/// What a queue is asked for.
pub(super) struct Request {
    pub(super) queue: WorkQueue,
    pub(super) queue_index: usize,
    pub(super) completions: Completions,
    /// Up to so many jobs are leased; 0: it only completes.
    pub(super) count: usize,
    /// How many tasks had ended before.
    pub(super) ended: u64,
    pub(super) options: LeaseOptions,
    /// Whether the queue is empty only once the schedules that are due have added their jobs.
    pub(super) burst: bool,
}

pub(super) struct Answer {
    pub(super) queue_index: usize,
    pub(super) count: usize,
    pub(super) ended: u64,
    /// `None`: nothing was to be leased.
    pub(super) leases: Option<Result<Vec<Lease>>>,
}

impl Answer {
    /// Schedules that are due add their jobs, if the queue seems to have no more. They are leased, too.
    async fn lease_due(&mut self, queue: &WorkQueue, options: LeaseOptions) {
        let Some(Ok(leases)) = &mut self.leases else { return };
        let Some(more) = self.count.checked_sub(leases.len()).filter(|more| *more > 0) else {
            return;
        };
        let due = async {
            match queue.tick_schedules().await {
                Err(error) if error.kind().is_retryable() => Err(error),
                // A schedule that cannot add anything ends no burst.
                _ => queue.lease_many(more, options).await,
            }
        };
        match due.await {
            Ok(due) => leases.extend(due),
            // It may have more.
            Err(_) if !leases.is_empty() => self.count = leases.len(),
            Err(error) => self.leases = Some(Err(error)),
        }
    }
}

impl Request {
    /// Completes, leases, and reports what was completed.
    pub(super) async fn send(self) -> Answer {
        let Request { queue, queue_index, completions, count, ended, options, burst } = self;
        let options = options.wait(Duration::ZERO);
        let leases = if completions.is_empty() {
            Some(queue.lease_many(count, options.clone()).await)
        } else if count == 0 {
            let done = queue.complete_many_with(completions.leases(), completions.options()).await;
            // Otherwise each is repeated.
            if let Ok(completed) = done {
                completions.completed(&completed);
            }
            None
        } else {
            let complete = completions.options();
            let both = queue
                .complete_and_lease_with(completions.leases(), complete, count, options.clone())
                .await;
            Some(both.map(|both| {
                completions.completed(&both.completed);
                both.leases
            }))
        };
        let mut answer = Answer { queue_index, count, ended, leases };
        if burst {
            answer.lease_due(&queue, options).await;
        }
        answer
    }
}

/// What goes on beside the requests.
pub(super) enum News {
    /// A call that has waited on the queue: nothing if it has only listened.
    Waited { queue_index: usize, leases: Result<Vec<Lease>> },
    /// Somebody has looked after the schedules of the queue; the next one is due after this time.
    Looked { queue_index: usize, next: Result<Option<Duration>> },
}

pub(super) async fn wait(
    queue: WorkQueue,
    queue_index: usize,
    wanted: Wanted,
    options: LeaseOptions,
) -> News {
    let leases = queue.lease_wanted(&wanted, options).await;
    News::Waited { queue_index, leases }
}

pub(super) async fn look(queue: WorkQueue, queue_index: usize) -> News {
    let next = queue.tick_schedules().await;
    News::Looked { queue_index, next }
}
