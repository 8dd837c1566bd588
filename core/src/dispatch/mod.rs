//! Batching: calls made at the same time become one request, and each call gets its part of the reply.
//!
//! [`batcher`] is the mechanism, [`ops`] are the operations that use it. [`format_check`] comes before the
//! first call on a queue. [`order`] keeps calls of all [`kind`]s in the order in which they were made. A
//! [`lane`] names the requests, so that the engine recognises a retry.

mod batcher;
mod context;
mod format_check;
mod kind;
mod lane;
mod lanes;
mod ops;
mod order;
mod poll_turns;
mod queue_context;
mod shared_request;
#[cfg(all(test, feature = "redis", feature = "sqlite"))]
mod tests;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use self::batcher::{Batcher, GRACE};
pub(crate) use self::context::Context;
use self::format_check::FormatCheck;
use self::kind::{Items, Kind};
pub(crate) use self::lane::LaneNames;
use self::ops::give_back::GiveBack;
use self::ops::items::ItemOp;
pub(crate) use self::ops::lease::{LeaseOp, LeaseParams};
use self::ops::reports::Reports;
pub(crate) use self::queue_context::QueueContext;
use crate::Result;
use crate::engine::{
    Attach, Attached, Bury, Complete, Extend, Fail, Progress, Release, Revise, Target, Token,
};
use crate::item::{Item, State};
use crate::name::QueueName;

/// Limit of the requests in flight that retire queues.
pub(crate) const MAX_RETIRING: usize = 16;

/// One queue of a client. Every operation that changes state goes through here.
pub(crate) struct Dispatch {
    shared: Arc<QueueContext>,
    format_check: FormatCheck,
    pub(crate) add: Batcher<ItemOp<Item, bool>>,
    pub(crate) complete: Batcher<ItemOp<Complete, bool>>,
    pub(crate) extend: Batcher<ItemOp<Extend, Option<u64>>>,
    pub(crate) release: Batcher<ItemOp<Release, bool>>,
    pub(crate) fail: Batcher<ItemOp<Fail, Option<State>>>,
    pub(crate) remove: Batcher<ItemOp<Target, bool>>,
    pub(crate) requeue: Batcher<ItemOp<Target, Option<bool>>>,
    pub(crate) bury: Batcher<ItemOp<Bury, Option<bool>>>,
    pub(crate) revise: Batcher<ItemOp<Revise, Option<bool>>>,
    pub(crate) cancel: Batcher<ItemOp<Target, Option<bool>>>,
    pub(crate) attach: Batcher<ItemOp<Attach, Attached>>,
    pub(crate) lease: Batcher<LeaseOp>,
    give_back: GiveBack,
    pub(crate) reports: Reports,
}

impl Deref for Dispatch {
    type Target = QueueContext;

    fn deref(&self) -> &QueueContext {
        &self.shared
    }
}

/// Sends inputs by this operation of the engine.
macro_rules! send {
    ($operation:ident) => {
        |engine, queue, inputs, id| {
            Box::pin(async move { engine.$operation(&queue, &inputs, &id).await })
        }
    };
}

impl Dispatch {
    pub(crate) fn new(context: Arc<Context>, queue: QueueName) -> Self {
        let queue = QueueContext::new(context, queue);
        let by_id = |items: &mut Items, target: &Target| items.by_id(&target.id);
        let add = ItemOp::new(Kind::Add, |items, item: &Item| items.by_id(&item.id), send!(add))
            .limited_by_bytes(Item::size)
            .limited_to(|shared, earlier, call| shared.admits(earlier, call));
        let complete = ItemOp::new(Kind::Complete, Items::by_lease, send!(complete))
            .limited_by_bytes(Complete::bytes);
        let extend = ItemOp::new(
            Kind::Extend,
            |items, lease: &Extend| items.by_token(lease.token),
            send!(extend),
        );
        let progress = ItemOp::new(
            Kind::Progress,
            |items, lease: &Progress| items.by_token(lease.token),
            send!(set_progress),
        )
        .limited_by_bytes(|lease| lease.value.len());
        let release = ItemOp::new(
            Kind::Release,
            |items, lease: &Release| items.by_id_and_token(&lease.id, lease.token),
            send!(release),
        );
        let fail = ItemOp::new(
            Kind::Fail,
            |items, lease: &Fail| items.by_id_and_token(&lease.id, lease.token),
            send!(fail),
        )
        .limited_by_bytes(Fail::sent);
        let remove = ItemOp::new(Kind::Remove, by_id, send!(remove));
        let requeue = ItemOp::new(Kind::Requeue, by_id, send!(requeue));
        let bury = |items: &mut Items, bury: &Bury| items.by_id(&bury.target.id);
        let bury = ItemOp::new(Kind::Bury, bury, send!(bury));
        let revise = |items: &mut Items, revise: &Revise| items.by_id(&revise.target.id);
        let revise = ItemOp::new(Kind::Revise, revise, send!(revise))
            .limited_by_bytes(|revise| revise.target.id.len() + revise.data_len());
        let cancel = ItemOp::new(Kind::Cancel, by_id, send!(cancel));
        let attach = |items: &mut Items, attach: &Attach| items.by_id(&attach.target.id);
        let attach =
            ItemOp::new(Kind::Attach, attach, send!(attach)).limited_by_bytes(Attach::room);
        let release = Batcher::new(&queue, release);
        let give_back = GiveBack::new(&release);
        let reports = Reports::new(Batcher::new(&queue, progress));
        Dispatch {
            format_check: FormatCheck::default(),
            add: Batcher::new(&queue, add),
            complete: Batcher::new(&queue, complete),
            extend: Batcher::new(&queue, extend),
            release,
            fail: Batcher::new(&queue, fail),
            remove: Batcher::new(&queue, remove),
            requeue: Batcher::new(&queue, requeue),
            bury: Batcher::new(&queue, bury),
            revise: Batcher::new(&queue, revise),
            cancel: Batcher::new(&queue, cancel),
            attach: Batcher::new(&queue, attach),
            lease: Batcher::new(&queue, LeaseOp::new(&give_back)),
            give_back,
            reports,
            shared: queue,
        }
    }

    /// Begins a call. Before the first one on the queue it checks the storage format. Returns the deadline of
    /// the call.
    pub(crate) async fn open(&self) -> Result<Instant> {
        self.context.check_open()?;
        let until = self.context.until();
        if self.format_check.is_done() {
            return Ok(until);
        }
        self.lanes.begin_use();
        // Calls made together check one after the other, and each has its own deadline.
        let check = self.format_check.run(self.context.engine.open_queue(&self.queue));
        match tokio::time::timeout_at(until.into(), check).await {
            Ok(Ok(())) => Ok(until),
            Ok(Err(error)) => Err(error.before_execution()),
            Err(_) => Err(self.late(false)),
        }
    }

    /// Moves the poll loops that calls drive to tasks of their own: a client that closes does not wait for
    /// calls that are not polled.
    pub(crate) fn spawn_driven(&self) {
        self.order.spawn_driven();
    }

    /// Runs an operation that changes nothing within the time of one call.
    pub(crate) async fn look<T>(&self, operation: impl Future<Output = Result<T>>) -> Result<T> {
        self.in_time(operation, false).await
    }

    /// Runs an operation that changes something and shares no request, within the time of one call.
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

    /// Gives leases back that reached no caller.
    pub(crate) fn give_back(&self, tokens: Vec<Token>) {
        self.give_back.release(tokens);
    }
}
