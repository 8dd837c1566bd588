//! Coalescing: calls made at the same time become one request, and the answers find their callers.
//!
//! [`batcher`] does it for operations that are answered at once, [`desk`] for leasing, which may
//! have to wait in [`line`](mod@line); [`question`] is what is asked for those in line. Calls come in by
//! [`opening`]. [`pace`] says when a request leaves and when callers are answered. [`order`] keeps
//! calls of all kinds in the order in which they were made. [`lane`] names the requests, so that the engine
//! can tell a retry.

mod batcher;
mod desk;
mod flight;
mod lane;
mod line;
mod opening;
mod order;
mod pace;
mod question;
#[cfg(all(test, feature = "redis", feature = "sqlite"))]
mod tests;

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use self::batcher::Batcher;
use self::batcher::GRACE;
pub(crate) use self::desk::{Desk, complete_and_lease, lease};
pub(crate) use self::lane::{Lane, LaneNames, Lanes};
use self::opening::Opening;
use self::order::{Items, Kind, Order};
use crate::backoff::Backoff;
use crate::engine::{Complete, Engine, Extend, Fail, Release, Token};
use crate::item::{Item, State};
use crate::name::QueueName;
use crate::{Error, Result};

/// The longest pause between attempts of background work.
const MAX_PAUSE: Duration = Duration::from_millis(500);
/// Requests at the same time that tell the engine which queues are not used any more.
pub(crate) const MAX_RETIRING: usize = 16;

/// What all queues of a client share.
pub(crate) struct Context {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) runtime: Handle,
    pub(crate) tasks: TaskTracker,
    pub(crate) closed: CancellationToken,
    pub(crate) timeout: Duration,
    pub(crate) max_data: usize,
    pub(crate) lane_names: LaneNames,
    /// Bounds how many queues are retired at the same time.
    pub(crate) retiring: Semaphore,
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

    /// The pauses of background work that is tried again.
    pub(crate) fn backoff(&self) -> Backoff {
        Backoff::up_to(MAX_PAUSE)
    }

    /// Before background work is tried again. The engine has retried for as long as it retries a call,
    /// or has failed at once.
    pub(crate) async fn pause(&self, backoff: &mut Backoff) {
        tokio::select! {
            () = tokio::time::sleep(backoff.pause()) => {}
            () = self.closed.cancelled() => {}
        }
    }
}

/// What all kinds of calls on one queue share.
pub(crate) struct Shared {
    pub(crate) context: Arc<Context>,
    pub(crate) queue: QueueName,
    pub(crate) lanes: Arc<Lanes>,
    order: Order,
}

impl Shared {
    /// The time of a call is over. `sent`: its request is on its way.
    fn late(&self, sent: bool) -> Error {
        Error::unavailable(format_args!("queue {}: no answer in time", self.queue), sent)
    }

    /// What serves a call has ended before its answer. `sent`: its request is on its way.
    fn stopped(&self, sent: bool) -> Error {
        if std::thread::panicking() {
            Error::stopped(&self.queue, sent)
        } else {
            // The runtime shuts down.
            Error::closed()
        }
    }
}

/// One queue of a client: every operation that changes state goes through here.
pub(crate) struct Dispatch {
    shared: Arc<Shared>,
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

impl Deref for Dispatch {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Dispatch {
    pub(crate) fn new(context: Arc<Context>, queue: QueueName) -> Self {
        let lanes = Lanes::new(&context, &queue);
        let order = Order::default();
        let shared = &Arc::new(Shared { context, queue, lanes, order });
        Dispatch {
            opening: Opening::default(),
            add: Batcher::new(
                shared,
                Kind::Add,
                |items, item: &Item| items.by_id(&item.id),
                |engine, queue, items, stamp| {
                    Box::pin(async move { engine.add(&queue, &items, &stamp).await })
                },
            )
            .weighed(|item| item.id.len() + item.data.len()),
            complete: Batcher::new(
                shared,
                Kind::Complete,
                by_lease,
                |engine, queue, leases, stamp| {
                    Box::pin(async move { engine.complete(&queue, &leases, &stamp).await })
                },
            ),
            extend: Batcher::new(
                shared,
                Kind::Extend,
                |items, lease: &Extend| items.by_token(lease.token),
                |engine, queue, leases, stamp| {
                    Box::pin(async move { engine.extend(&queue, &leases, &stamp).await })
                },
            ),
            release: Batcher::new(
                shared,
                Kind::Release,
                |items, lease: &Release| items.by_token(lease.token),
                |engine, queue, leases, stamp| {
                    Box::pin(async move { engine.release(&queue, &leases, &stamp).await })
                },
            ),
            fail: Batcher::new(
                shared,
                Kind::Fail,
                |items, lease: &Fail| items.by_token(lease.token),
                |engine, queue, leases, stamp| {
                    Box::pin(async move { engine.fail(&queue, &leases, &stamp).await })
                },
            ),
            remove: Batcher::new(
                shared,
                Kind::Remove,
                |items, id: &Bytes| items.by_id(id),
                |engine, queue, ids, stamp| {
                    Box::pin(async move { engine.remove(&queue, &ids, &stamp).await })
                },
            ),
            requeue: Batcher::new(
                shared,
                Kind::Requeue,
                |items, id: &Bytes| items.by_id(id),
                |engine, queue, ids, stamp| {
                    Box::pin(async move { engine.requeue(&queue, &ids, &stamp).await })
                },
            ),
            desk: Desk::default(),
            shared: shared.clone(),
        }
    }

    /// Begins a call, with the first operation on the queue: is its storage format known? When the call
    /// must be answered.
    pub(crate) async fn open(&self) -> Result<Instant> {
        self.context.check_open()?;
        let until = self.context.until();
        if self.opening.is_clear() {
            return Ok(until);
        }
        self.lanes.begin_use();
        // Calls that come together take turns, and none may wait longer than it would by itself.
        let opening = self.opening.pass(self.context.engine.open_queue(&self.queue));
        match tokio::time::timeout_at(until.into(), opening).await {
            Ok(Ok(())) => Ok(until),
            Ok(Err(error)) => Err(error.before_execution()),
            Err(_) => Err(self.late(false)),
        }
    }

    /// The client is closed: it does not wait for calls that are not polled.
    pub(crate) fn launch_driven(&self) {
        self.order.launch_driven();
    }

    /// Runs an operation that changes nothing within the time of one call.
    pub(crate) async fn look<T>(&self, operation: impl Future<Output = Result<T>>) -> Result<T> {
        self.in_time(operation, false).await
    }

    /// Runs an operation that shares no request with others within the time of one call.
    pub(crate) async fn change<T>(&self, operation: impl Future<Output = Result<T>>) -> Result<T> {
        self.in_time(operation, true).await
    }

    async fn in_time<T>(
        &self,
        operation: impl Future<Output = Result<T>>,
        changes: bool,
    ) -> Result<T> {
        let until = self.open().await?;
        // The engine gives up by itself if all of the time was left for it.
        let answer = tokio::time::timeout_at((until + GRACE).into(), operation).await;
        answer.unwrap_or_else(|_| Err(self.late(changes)))
    }

    /// Gives leases back that reached nobody: they go to the front, as if they had never been given.
    pub(crate) fn give_back(self: &Arc<Self>, tokens: Vec<Token>) {
        if tokens.is_empty() {
            return;
        }
        let this = self.clone();
        self.context.spawn(async move {
            let context = &this.context;
            let mut backoff = context.backoff();
            loop {
                let releases = tokens.iter().map(|&token| Release { token, delay_ms: 0 }).collect();
                match this.release.call(releases, context.until()).await {
                    // Repeating it is harmless: a second time finds the lease lost.
                    Err(error) if error.kind().is_retryable() && !context.closed.is_cancelled() => {
                        context.pause(&mut backoff).await;
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

fn by_lease(items: &mut Items, lease: &Complete) {
    items.by_id(&lease.id);
    items.by_token(lease.token);
}
