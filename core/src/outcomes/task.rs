//! The task of a queue whose items calls wait for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::state::Next;
use super::waits::QueueWaits;
use crate::dispatch::Context;
use crate::lock::lock;
use crate::name::QueueName;

/// How long it pauses when reports, or what they leave to read, cannot be read.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) struct Task {
    pub(super) context: Arc<Context>,
    pub(super) queue: QueueName,
    pub(super) waits: Arc<QueueWaits>,
}

impl Drop for Task {
    /// However the task ends, or if it never starts, no call waits for it any more.
    fn drop(&mut self) {
        self.leave(|_| true);
        lock(&self.waits.state).close();
    }
}

impl Task {
    /// Runs until no call waits.
    pub(super) async fn run(self) {
        tokio::select! {
            () = self.context.closed.cancelled() => {}
            () = self.ask() => {}
            () = self.read_reports() => {}
            () = self.fetch_results() => {}
        }
    }

    /// Leaves the next call to another task, if `may` says so.
    fn leave(&self, may: impl FnOnce(&Arc<QueueWaits>) -> bool) -> bool {
        let mut queues = lock(&self.context.outcome_waits.queues);
        let is_current = queues.get(&self.queue).is_some_and(|now| Arc::ptr_eq(now, &self.waits));
        let leaves = !is_current || may(&self.waits);
        if is_current && leaves {
            queues.remove(&self.queue);
        }
        leaves
    }

    /// Registers ids, and asks about them now and then.
    async fn ask(&self) {
        // Calls made at the same time share a request.
        tokio::task::yield_now().await;
        let mut backoff = self.context.backoff();
        loop {
            let (next, lasts, read_to) = {
                let mut state = lock(&self.waits.state);
                (state.next(Instant::now()), state.lasts(), state.read_to())
            };
            match next {
                Next::Ask(items, last) => {
                    let engine = &self.context.engine;
                    match engine.await_outcomes(&self.queue, &items, lasts, read_to).await {
                        Ok(answer) => {
                            backoff.reset();
                            let rewound =
                                lock(&self.waits.state).answered(&items, last, read_to, answer);
                            if rewound {
                                self.waits.rewound.notify_one();
                            }
                            self.waits.asked.notify_one();
                            self.waits.to_fetch.notify_one();
                        }
                        Err(error) => {
                            let pause = backoff.pause();
                            lock(&self.waits.state).failed(&items, last, &error, pause);
                        }
                    }
                }
                Next::Wait(at) => {
                    tokio::select! {
                        () = self.waits.changed.notified() => {}
                        () = tokio::time::sleep_until(at.into()) => {}
                    }
                }
                Next::Nothing => {
                    if self.leave(|waits| lock(&waits.state).is_empty()) {
                        return;
                    }
                }
            }
        }
    }

    /// Reads reports, from the place of the first answer on.
    async fn read_reports(&self) {
        loop {
            let read_to = lock(&self.waits.state).read_to();
            let Some(after) = read_to else {
                self.waits.asked.notified().await;
                continue;
            };
            let endings = tokio::select! {
                endings = self.context.engine.wait_endings(&self.queue, after) => endings,
                () = self.waits.rewound.notified() => continue,
            };
            match endings {
                Ok(endings) => {
                    let lost = endings.lost;
                    if lock(&self.waits.state).reported(endings, after) {
                        self.waits.to_fetch.notify_one();
                    }
                    if lost {
                        self.waits.changed.notify_one();
                    }
                }
                // Asking now and then finds the same, later.
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Fetches results and errors of items whose ends were reported.
    async fn fetch_results(&self) {
        loop {
            let ids: Vec<Bytes> = lock(&self.waits.state).next_to_fetch();
            if ids.is_empty() {
                self.waits.to_fetch.notified().await;
                continue;
            }
            match self.context.engine.outcomes(&self.queue, &ids).await {
                Ok(answer) => lock(&self.waits.state).fetched(&ids, answer.found),
                Err(_) => {
                    lock(&self.waits.state).fetched(&ids, Vec::new());
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}
