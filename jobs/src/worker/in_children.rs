//! Running jobs in child processes: a child for each slot.

use std::future::pending;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;

use super::context::Context;
use super::face::Face;
use crate::children::{Child, Pool};
use crate::{Finish, JobStart, WorkerCore};

/// Runs jobs in so many slots until the worker has ended. The core has one open, for the first child.
pub(super) async fn serve(slot: Slot, slots: usize, first: Child) {
    let mut first = Some(first);
    let mut serving = JoinSet::new();
    for _ in 0..slots {
        serving.spawn(slot.clone().serve(first.take()));
    }
    serving.join_all().await;
}

/// A slot, which has a child most of the time.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) face: Arc<Face>,
    pub(super) core: Arc<WorkerCore>,
    pub(super) pool: Arc<Pool>,
    /// What is still to be reported.
    pub(super) handlers: TaskTracker,
}

/// A job for which there is no child yet, because the one that got it has ended before it began.
type Waiting = Option<Context>;

impl Slot {
    async fn serve(self, first: Option<Child>) {
        let mut next = first;
        let mut waiting = None;
        loop {
            let child = match next.take() {
                Some(child) => child,
                None => {
                    let Some(child) = self.start_child(&mut waiting).await else { return };
                    self.core.open_slot();
                    child
                }
            };
            let Some(child) = self.use_up(child, &mut waiting).await else { return };
            child.stop().await;
        }
    }

    /// `None`: the worker has ended.
    async fn start_child(&self, waiting: &mut Waiting) -> Option<Child> {
        loop {
            let killed = async {
                match waiting {
                    Some(context) => context.task().killed().await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.core.ended() => return None,
                () = killed => {
                    if let Some(context) = waiting.take() {
                        self.end(context, Finish::Cancelled, Instant::now());
                    }
                }
                child = self.pool.start() => return Some(child),
            }
        }
    }

    /// Runs jobs in a child until it has to be replaced. `None`: the worker has ended.
    async fn use_up(&self, mut child: Child, waiting: &mut Waiting) -> Option<Child> {
        loop {
            let is_second = waiting.is_some();
            let context = match waiting.take() {
                Some(context) => context,
                None => tokio::select! {
                    biased;
                    start = self.core.next() => match start {
                        JobStart::Start(task) => self.face.start(task),
                        JobStart::Drained => {
                            child.stop().await;
                            return None;
                        }
                    },
                    reason = child.broken() => {
                        self.core.close_slot();
                        self.pool.lost(&child, &reason);
                        return Some(child);
                    }
                },
            };
            let begun = Instant::now();
            let ran = child.run(context.task(), &self.pool.options).await;
            let is_last = !ran.is_alive || child.is_used_up(&self.pool.options);
            if is_last {
                // Before the report, which makes room for the next job.
                self.core.close_slot();
            }
            if ran.never_started && !is_second {
                *waiting = Some(context);
                return Some(child);
            }
            self.end(context, ran.finish, begun);
            self.pool.succeeded();
            if is_last {
                return Some(child);
            }
            if let Err(reason) = child.ready().await {
                self.core.close_slot();
                self.pool.lost(&child, &reason);
                return Some(child);
            }
        }
    }

    /// Reports, while the slot goes on.
    fn end(&self, context: Context, finish: Finish, begun: Instant) {
        let face = self.face.clone();
        self.handlers.spawn(async move { face.end(&context, finish, begun).await });
    }
}
