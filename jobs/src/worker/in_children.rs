//! Running jobs in child processes: a child for each slot.

use std::future::pending;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leaseq::Result;
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;
use tracing::error;

use super::context::Context;
use super::face::Face;
use crate::children::{Child, Pool, passed_on};
use crate::{Finish, JobStart, WorkerCore};

/// How long the children may take to end after the worker.
const ENDING: Duration = Duration::from_millis(1500);

/// Jobs wait this long for a child if there is none.
const LATE: Duration = Duration::from_secs(1);

/// Runs jobs in so many slots until the worker has ended, and passes on what the children have written. The core has no
/// slots open.
pub(super) async fn serve(slot: Slot, slots: usize, first: Child) {
    serve_all(slot, slots, first).await;
    passed_on().await;
}

async fn serve_all(slot: Slot, slots: usize, first: Child) {
    let core = slot.core.clone();
    let mut first = Some(first);
    let mut serving = JoinSet::new();
    let mut given_up = None;
    for _ in 0..slots {
        serving.spawn(slot.clone().serve(first.take()));
    }
    let late = async {
        core.ended().await;
        tokio::time::sleep(ENDING).await;
    };
    tokio::pin!(late);
    loop {
        tokio::select! {
            ended = serving.join_next() => match ended {
                Some(Ok(ended)) => given_up = ended.err().or(given_up),
                Some(Err(failure)) => error!(%failure, "a slot has failed"),
                None => break,
            },
            // They are killed.
            () = &mut late => return,
        }
    }
    // Nothing can run any more.
    if let Some(error) = given_up {
        core.fail(error);
        core.ended().await;
    }
}

/// A slot, which has a child most of the time.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) face: Arc<Face>,
    pub(super) core: Arc<WorkerCore>,
    pub(super) pool: Arc<Pool>,
    /// Those that are still to hear of ends.
    pub(super) hooks: TaskTracker,
}

/// The core may lease for this slot as long as this exists.
struct Open(Arc<WorkerCore>);

impl Open {
    fn new(core: &Arc<WorkerCore>) -> Open {
        core.open_slot();
        Open(core.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.close_slot();
    }
}

/// A job whose child has ended before a handler saw it, and which waits for the next one.
type Waiting = Option<Context>;

impl Slot {
    /// Fails if there can be no child, and that does not change.
    async fn serve(self, first: Option<Child>) -> Result<()> {
        let mut next = first;
        let mut waiting = None;
        loop {
            let child = match next.take() {
                Some(child) => Some(child),
                None => self.start_child(&mut waiting).await?,
            };
            let Some(child) = child else { return Ok(()) };
            if self.use_up(child, &mut waiting).await.is_break() {
                return Ok(());
            }
        }
    }

    /// `None`: the worker ends.
    async fn start_child(&self, waiting: &mut Waiting) -> Result<Option<Child>> {
        let mut start = pin!(self.pool.start());
        loop {
            let is_waiting = waiting.is_some();
            let cancelled = async {
                match waiting {
                    Some(context) => context.task().cancelled().await,
                    None => pending().await,
                }
            };
            let late = async {
                loop {
                    tokio::time::sleep(LATE).await;
                    self.core.give_back_if_closed();
                    if is_waiting && self.pool.is_failing() {
                        return;
                    }
                }
            };
            let child = tokio::select! {
                biased;
                () = self.core.draining() => None,
                _ = cancelled => None,
                child = &mut start => Some(child),
                () = late => None,
            };
            if let Some(Ok(child)) = child {
                return Ok(Some(child));
            }
            let was_waiting = match waiting.take() {
                // No handler has seen it.
                Some(context) => {
                    self.end(context, Finish::Snooze(Duration::ZERO), Instant::now());
                    true
                }
                None => false,
            };
            match child {
                Some(failed) => return failed.map(Some),
                None if was_waiting => {}
                None => return Ok(None),
            }
        }
    }

    /// Runs jobs in a child until it is to be replaced, or until the worker has ended.
    async fn use_up(&self, mut child: Child, waiting: &mut Waiting) -> ControlFlow<()> {
        let mut again = waiting.take();
        let mut open = Some(Open::new(&self.core));
        loop {
            let is_second = again.is_some();
            let context = match again.take() {
                Some(context) => context,
                None => tokio::select! {
                    biased;
                    broken = child.broken() => {
                        drop(open);
                        self.pool.lost(child, broken).await;
                        return ControlFlow::Continue(());
                    }
                    start = self.core.next() => match start {
                        JobStart::Start(task) => self.face.start(task),
                        JobStart::Drained => {
                            child.stop().await;
                            return ControlFlow::Break(());
                        }
                    },
                },
            };
            let begun = Instant::now();
            let ran = child.run(context.task(), &self.pool.options).await;
            if ran.was_started && child.jobs == 1 {
                self.pool.succeeded();
            }
            if !ran.was_started && !ran.is_alive {
                self.pool.failed("it has ended before a handler saw its job");
                if !is_second {
                    *waiting = Some(context);
                    return ControlFlow::Continue(());
                }
            }
            if !ran.is_alive {
                // Before the report, which makes room for the next job.
                open = None;
            }
            self.end(context, ran.finish, begun);
            if !ran.is_alive {
                return ControlFlow::Continue(());
            }
        }
    }

    /// Reports, while the slot goes on.
    fn end(&self, context: Context, finish: Finish, begun: Instant) {
        self.face.end(context, finish, begun, &self.hooks);
    }
}
