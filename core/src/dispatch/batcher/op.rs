//! What distinguishes the kinds of calls: how calls share a request, and how its reply reaches them.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::batch::Batch;
use super::call::{Call, Delivery};
use super::pending::PendingCalls;
use crate::Result;
use crate::dispatch::kind::{Items, Kind};
use crate::dispatch::queue_context::QueueContext;
use crate::engine::RequestId;

/// A kind of operation, whose calls share requests.
pub(crate) trait Op: Send + Sync + Sized + 'static {
    /// What a call is made with.
    type Args: Send + 'static;
    /// What a call returns.
    type Output: Send + 'static;
    /// What one request carries.
    type Request: Send + 'static;
    /// What the engine answers.
    type Reply: Send + 'static;

    fn kind(&self) -> Kind;

    /// Adds the items that a call names, as the order of calls compares them.
    fn name_items(&self, args: &Self::Args, items: &mut Items);

    /// Takes out the calls for which there is nothing to do, before a batch is taken.
    fn discard(&self, _: &QueueContext, _: &mut PendingOf<Self>) -> Vec<CallOf<Self>> {
        Vec::new()
    }

    /// Takes the calls of the next request: of those with numbers below `limit`, and without any if there
    /// are none.
    fn next_batch(
        &self,
        queue: &QueueContext,
        pending: &mut PendingOf<Self>,
        limit: u64,
    ) -> BatchOf<Self>;

    /// Which of its engine operations a request takes, below [`MAX_COMMANDS`](super::pending::MAX_COMMANDS).
    fn command(&self, _: &BatchOf<Self>) -> usize {
        0
    }

    /// Whether the engine fixes the place of a request among the others when it is first polled.
    fn keeps_order(&self, _: &QueueContext) -> bool {
        true
    }

    /// Sends a request, when it is polled.
    fn send(
        &self,
        queue: &Arc<QueueContext>,
        batch: &mut BatchOf<Self>,
        id: RequestId,
    ) -> RequestFuture<Self::Reply>;

    /// Splits a batch that the engine has refused into one for each call, or returns it: all of its calls
    /// fail.
    fn split(
        &self,
        batch: BatchOf<Self>,
    ) -> std::result::Result<Vec<BatchOf<Self>>, BatchOf<Self>> {
        Err(batch)
    }

    /// Shares out the reply. Calls that are not finished go back to the pending ones.
    fn distribute(
        &self,
        queue: &Arc<QueueContext>,
        pending: &mut PendingOf<Self>,
        batch: BatchOf<Self>,
        reply: Self::Reply,
    ) -> Distributed<Self::Output>;

    /// The outcome of a request is unknown. True: the operation now looks after it, and its lane must not be
    /// used for anything else.
    fn recover(&self, _: &Arc<QueueContext>, _: &BatchOf<Self>, _: &RequestId) -> bool {
        false
    }
}

pub(crate) type CallOf<O> = Call<<O as Op>::Args, <O as Op>::Output>;
pub(crate) type PendingOf<O> = PendingCalls<<O as Op>::Args, <O as Op>::Output>;
pub(crate) type BatchOf<O> = Batch<<O as Op>::Args, <O as Op>::Output, <O as Op>::Request>;
pub(crate) type RequestFuture<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// The replies to the calls of a batch.
pub(crate) struct Distributed<R> {
    pub(crate) deliveries: Vec<Delivery<R>>,
    /// The engine had enough for all of them.
    pub(crate) served_in_full: bool,
    pub(crate) next: Next,
}

/// What a poll loop does after a request.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    Send,
    /// There is nothing for the calls that wait: waits for news, and no longer than this.
    Rest(Duration),
}
