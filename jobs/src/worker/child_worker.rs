//! A worker whose jobs run in children, without anything else of this language.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use leaseq::{Client, Result};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::event::Event;
use super::face::Face;
use super::in_children::{Slot, serve};
use crate::children::{Child, Pool, passed_on};
use crate::{Children, QueueOptions, WorkerCore, WorkerOptions};

/// How long the end waits until the last events were told.
const TELLING: Duration = Duration::from_secs(1);

/// A worker whose jobs run in children, for programs in other languages.
#[derive(Debug)]
pub struct ChildWorker {
    core: Arc<WorkerCore>,
    children: CancellationToken,
}

impl ChildWorker {
    /// Starts the first child, and to lease. Must be called inside a tokio runtime. If the options name no queue, the
    /// children's jobs do.
    ///
    /// # Errors
    /// `Invalid` for an option outside its limits, and if the first child does not start; `Closed` if the client is
    /// closed.
    pub async fn start(
        client: &Client,
        options: WorkerOptions,
        children: &Children,
    ) -> Result<ChildWorker> {
        ChildWorker::start_as(client, options, children, Face::default()).await
    }

    /// The same, and calls a function when a job starts in a child and when it is settled. What has happened before
    /// [`ended`](ChildWorker::ended) was told then.
    ///
    /// # Errors
    /// As for [`start`](ChildWorker::start).
    pub async fn start_with_events(
        client: &Client,
        options: WorkerOptions,
        children: &Children,
        hook: impl Fn(&Event<'_>) + Send + Sync + 'static,
    ) -> Result<ChildWorker> {
        let mut face = Face::default();
        face.hooks.push(Arc::new(hook));
        ChildWorker::start_as(client, options, children, face).await
    }

    async fn start_as(
        client: &Client,
        mut options: WorkerOptions,
        children: &Children,
        face: Face,
    ) -> Result<ChildWorker> {
        let (pool, first) = start_first(children, &mut options).await?;
        let slots = options.slots;
        let core = Arc::new(WorkerCore::start_with(client, options, 0)?);
        let handlers = TaskTracker::new();
        let reports = handlers.clone();
        let slot = Slot { face: Arc::new(face), core: core.clone(), pool, hooks: handlers };
        let children = CancellationToken::new();
        let ended = children.clone().drop_guard();
        tokio::spawn(async move {
            serve(slot, slots, first).await;
            // Jobs were settled when the core ended; what is left is to tell that.
            reports.close();
            _ = timeout(TELLING, reports.wait()).await;
            drop(ended);
        });
        Ok(ChildWorker { core, children })
    }

    /// To end it, and to ask for its state. It starts the tasks itself: do not call [`next`](WorkerCore::next).
    pub fn core(&self) -> &WorkerCore {
        &self.core
    }

    /// Waits until the worker and its children have ended.
    pub async fn ended(&self) {
        self.core.ended().await;
        self.children.cancelled().await;
    }
}

impl Drop for ChildWorker {
    fn drop(&mut self) {
        self.core.abort();
    }
}

/// Starts the first child, which tells what jobs there are and from which queues.
pub(super) async fn start_first(
    children: &Children,
    options: &mut WorkerOptions,
) -> Result<(Arc<Pool>, Child)> {
    let (pool, first, jobs) = match Pool::start_first(children.clone(), options.burst).await {
        Ok(started) => started,
        Err(error) => {
            passed_on().await;
            return Err(error);
        }
    };
    let mut queues = BTreeSet::new();
    for (name, declared) in jobs {
        queues.insert(declared.queue().to_owned());
        options.jobs.insert(name, declared.options());
    }
    if options.queues.is_empty() {
        options.queues = queues.into_iter().map(QueueOptions::new).collect();
    }
    Ok((Arc::new(pool), first))
}
