//! Leasing as an operation whose calls share requests.

use std::sync::Arc;

use super::args::{LeaseArgs, LeaseCall, PendingLeases, is_done};
use super::batch::{LeaseBatch, LeasePayload, next_batch};
use super::distribute::distribute;
use super::request::{Recovery, send};
use crate::Error;
use crate::dispatch::batcher::op::{Distributed, Op, RequestFuture};
use crate::dispatch::kind::{Items, Kind};
use crate::dispatch::ops::give_back::GiveBack;
use crate::dispatch::ops::unclaimed::UnclaimedLeases;
use crate::dispatch::queue_context::QueueContext;
use crate::engine::{Leased, RequestId};

pub(crate) struct LeaseOp {
    give_back: GiveBack,
}

impl LeaseOp {
    pub(crate) fn new(give_back: &GiveBack) -> LeaseOp {
        LeaseOp { give_back: give_back.clone() }
    }
}

impl Op for LeaseOp {
    type Args = LeaseArgs;
    type Output = UnclaimedLeases;
    type Request = LeasePayload;
    type Reply = Leased;

    fn kind(&self) -> Kind {
        Kind::Lease
    }

    fn name_items(&self, args: &LeaseArgs, items: &mut Items) {
        let completes = args.completing.iter().flat_map(|completing| &completing.leases);
        completes.for_each(|lease| items.by_lease(lease));
    }

    /// Calls whose callers are gone, and all of them if the client is closed.
    fn discard(&self, queue: &QueueContext, pending: &mut PendingLeases) -> Vec<LeaseCall> {
        if queue.context.closed.is_cancelled() {
            for call in pending.iter_mut() {
                call.fail(Error::closed());
                call.args.completing = None;
            }
        }
        pending.take_matching(is_done)
    }

    fn next_batch(
        &self,
        queue: &QueueContext,
        pending: &mut PendingLeases,
        limit: u64,
    ) -> LeaseBatch {
        next_batch(queue, pending, limit)
    }

    fn command(&self, batch: &LeaseBatch) -> usize {
        batch.request.command()
    }

    fn keeps_order(&self, queue: &QueueContext) -> bool {
        queue.context.engine.leases_in_one_step()
    }

    fn send(
        &self,
        queue: &Arc<QueueContext>,
        batch: &mut LeaseBatch,
        id: RequestId,
    ) -> RequestFuture<Leased> {
        Box::pin(send(queue, &mut batch.request, id))
    }

    fn distribute(
        &self,
        queue: &Arc<QueueContext>,
        pending: &mut PendingLeases,
        batch: LeaseBatch,
        leased: Leased,
    ) -> Distributed<UnclaimedLeases> {
        distribute(queue, pending, batch, leased, &self.give_back)
    }

    /// Items may have been leased to nobody.
    fn recover(&self, queue: &Arc<QueueContext>, batch: &LeaseBatch, id: &RequestId) -> bool {
        let leases = batch.request.items > 0;
        if leases {
            let recovery = Recovery::new(&batch.request, self.give_back.clone());
            queue.context.spawn(recovery.run(queue.clone(), id.clone()));
        }
        leases
    }
}
