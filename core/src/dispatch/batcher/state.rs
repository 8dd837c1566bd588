//! What the calls of a batcher and its poll loops share.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::deadline::sleep_until;
use super::op::{CallOf, Op, PendingOf};
use crate::dispatch::order::SendPermit;
use crate::dispatch::queue_context::QueueContext;
use crate::lock::lock;

pub(crate) struct State<O: Op> {
    pub(super) queue: Arc<QueueContext>,
    pub(super) op: O,
    pending: Mutex<PendingOf<O>>,
    /// Held from when a request collects its calls until it is sent, so that two do not divide the calls
    /// between them.
    pub(super) send_lock: tokio::sync::Mutex<()>,
    /// Wakes a poll loop that rests: there is a new call.
    pub(super) news: Notify,
}

impl<O: Op> State<O> {
    pub(super) fn new(queue: &Arc<QueueContext>, op: O) -> State<O> {
        State {
            queue: queue.clone(),
            op,
            pending: Mutex::default(),
            send_lock: tokio::sync::Mutex::default(),
            news: Notify::new(),
        }
    }

    pub(super) fn pending(&self) -> MutexGuard<'_, PendingOf<O>> {
        lock(&self.pending)
    }

    pub(super) fn min_batch(&self) -> usize {
        self.queue.context.engine.min_batch()
    }

    /// Waits until pending calls may be sent. Meanwhile calls get errors when their deadlines pass.
    pub(super) async fn permit(&self) -> SendPermit<'_> {
        let (kind, order) = (self.op.kind(), &self.queue.order);
        let first = || self.pending().first_unsent();
        loop {
            if let Some(permit) = order.try_acquire(kind, first()) {
                return permit;
            }
            let next = self.expire();
            tokio::select! {
                permit = order.acquire(kind, first) => return permit,
                () = sleep_until(next) => {}
            }
        }
    }

    /// Answers the pending calls whose deadlines have passed. Returns the next deadline.
    pub(super) fn expire(&self) -> Option<Instant> {
        let (expired, next) = {
            let mut pending = self.pending();
            (pending.take_expired(Instant::now()), pending.next_deadline())
        };
        self.discard(&expired);
        for mut call in expired {
            call.fail(self.queue.late(false));
        }
        next
    }

    /// These calls will not be sent.
    pub(super) fn discard(&self, calls: &[CallOf<O>]) {
        let numbers: Vec<u64> = calls.iter().filter_map(CallOf::<O>::unsent).collect();
        self.queue.order.discard(self.op.kind(), &numbers);
    }

    /// Waits until there may be something for the calls that wait: news from the engine, another call, or
    /// the end of the time.
    pub(super) async fn rest(&self, time: Duration) {
        let context = &self.queue.context;
        tokio::select! {
            () = context.engine.wait(&self.queue.queue) => {}
            () = tokio::time::sleep(time) => {}
            () = self.news.notified() => {}
            () = context.closed.cancelled() => {}
        }
    }
}
