//! Coalescing: calls made at the same time become one request, and the answers find their callers.
//!
//! [`batcher`] does it for operations that are answered at once, [`desk`] for leasing, which may
//! have to wait in [`line`](mod@line); [`question`] is what is asked for those in line. Calls come in by
//! [`opening`]. [`pace`] says when a request leaves and when callers are answered. [`lane`] names the
//! requests, so that the engine can tell a retry.

mod batcher;
mod desk;
mod flight;
mod lane;
mod line;
mod opening;
mod pace;
mod question;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use self::batcher::Batcher;
pub(crate) use self::desk::{Desk, complete_and_lease, lease};
pub(crate) use self::lane::{Lane, Lanes};
use self::opening::Opening;
use crate::engine::{Complete, Engine, Extend, Fail, Release, Token};
use crate::item::{Item, State};
use crate::name::QueueName;
use crate::{Error, Result};

const PAUSE: Duration = Duration::from_millis(500);

/// What all queues of a client share.
pub(crate) struct Context {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) runtime: Handle,
    pub(crate) tasks: TaskTracker,
    pub(crate) closed: CancellationToken,
    pub(crate) timeout: Duration,
    pub(crate) max_data: usize,
    pub(crate) lanes: Lanes,
    /// Held while many callers are given their answers.
    pub(crate) turn: tokio::sync::Mutex<()>,
    /// Queues with calls that wait for an item, to bound how often they all look.
    pub(crate) waiting_queues: AtomicUsize,
}

impl Context {
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.is_cancelled() { Err(Error::closed()) } else { Ok(()) }
    }

    /// Runs to the end whatever becomes of the caller; `close` waits for it.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn_on(task, &self.runtime);
    }

    pub(crate) fn until(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Before background work is tried again that failed for as long as a call is retried.
    pub(crate) async fn pause(&self) {
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = self.closed.cancelled() => {}
        }
    }
}

/// One queue of a client: every operation that changes state goes through here.
pub(crate) struct Dispatch {
    pub(crate) context: Arc<Context>,
    pub(crate) queue: QueueName,
    opening: Opening,
    pub(crate) add: Batcher<Item, bool>,
    pub(crate) complete: Batcher<Complete, bool>,
    pub(crate) extend: Batcher<Extend, Option<u64>>,
    pub(crate) release: Batcher<Release, bool>,
    pub(crate) fail: Batcher<Fail, Option<State>>,
    pub(crate) remove: Batcher<Bytes, bool>,
    pub(crate) requeue: Batcher<Bytes, bool>,
    pub(crate) desk: Desk,
}

impl Dispatch {
    pub(crate) fn new(context: Arc<Context>, queue: QueueName) -> Self {
        Dispatch {
            opening: Opening::default(),
            add: Batcher::new(&context, &queue, |engine, queue, items, stamp| {
                Box::pin(async move { engine.add(&queue, &items, &stamp).await })
            })
            .weighed(|item| item.id.len() + item.data.len()),
            complete: Batcher::new(&context, &queue, |engine, queue, leases, stamp| {
                Box::pin(async move { engine.complete(&queue, &leases, &stamp).await })
            }),
            extend: Batcher::new(&context, &queue, |engine, queue, leases, stamp| {
                Box::pin(async move { engine.extend(&queue, &leases, &stamp).await })
            }),
            release: Batcher::new(&context, &queue, |engine, queue, leases, stamp| {
                Box::pin(async move { engine.release(&queue, &leases, &stamp).await })
            }),
            fail: Batcher::new(&context, &queue, |engine, queue, leases, stamp| {
                Box::pin(async move { engine.fail(&queue, &leases, &stamp).await })
            }),
            remove: Batcher::new(&context, &queue, |engine, queue, ids, stamp| {
                Box::pin(async move { engine.remove(&queue, &ids, &stamp).await })
            }),
            requeue: Batcher::new(&context, &queue, |engine, queue, ids, stamp| {
                Box::pin(async move { engine.requeue(&queue, &ids, &stamp).await })
            }),
            desk: Desk::default(),
            context,
            queue,
        }
    }

    /// Before the first operation on the queue: is its storage format known?
    pub(crate) async fn open(&self) -> Result<()> {
        self.context.check_open()?;
        if self.opening.is_clear() {
            return Ok(());
        }
        // Calls that come together take turns, and none may wait longer than it would by itself.
        let opening = self.opening.pass(self.context.engine.open_queue(&self.queue));
        match tokio::time::timeout_at(self.context.until().into(), opening).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(error.before_execution()),
            Err(_) => Err(Error::unavailable(
                format_args!("queue {}: no answer in time", self.queue),
                false,
            )),
        }
    }

    /// Gives leases back that reached nobody: they go to the front, as if they had never been given.
    pub(crate) fn give_back(self: &Arc<Self>, tokens: Vec<Token>) {
        if tokens.is_empty() {
            return;
        }
        let this = self.clone();
        self.context.spawn(async move {
            let context = &this.context;
            loop {
                let releases = tokens.iter().map(|&token| Release { token, delay_ms: 0 }).collect();
                match this.release.call(releases).await {
                    // Repeating it is harmless: a second time finds the lease lost.
                    Err(error) if error.kind().is_retryable() && !context.closed.is_cancelled() => {
                        context.pause().await;
                    }
                    Err(error) => {
                        tracing::warn!(queue = %this.queue, %error, "leases of a dropped call run out by themselves");
                        return;
                    }
                    Ok(_) => return,
                }
            }
        });
    }
}
