//! How a call gets its result from a batcher.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;

use super::call::Call;
use super::op::Op;
use super::poll_loop::PollLoop;
use super::state::State;
use crate::dispatch::queue_context::QueueContext;
use crate::dispatch::shared_request::{SharedRequest, drive};
use crate::{Error, Result};

/// Batches the calls of one kind on one queue.
pub(crate) struct Batcher<O: Op>(Arc<State<O>>);

impl<O: Op> Clone for Batcher<O> {
    fn clone(&self) -> Self {
        Batcher(self.0.clone())
    }
}

/// A call that was made.
pub(crate) struct Enqueued<O: Op> {
    state: Arc<State<O>>,
    /// The poll loop that this call has started.
    own: Option<Arc<SharedRequest>>,
    /// It is the only loop.
    is_alone: bool,
    /// The poll loop that another call has driven so far.
    previous: Option<Arc<SharedRequest>>,
}

impl<O: Op> Batcher<O> {
    pub(crate) fn new(queue: &Arc<QueueContext>, op: O) -> Self {
        Batcher(Arc::new(State::new(queue, op)))
    }

    pub(crate) fn queue(&self) -> &Arc<QueueContext> {
        &self.0.queue
    }

    /// Makes a call about so many items, whose place in the order of calls this decides.
    pub(crate) fn enqueue(
        &self,
        args: O::Args,
        size: usize,
        deadline: Instant,
        reply: oneshot::Sender<Result<O::Output>>,
    ) -> Enqueued<O> {
        let state = &self.0;
        let queue = &state.queue;
        let start = || SharedRequest::new(&queue.context, PollLoop::new(state).run());
        let mut pending = state.pending();
        let is_alone = pending.loops == 0;
        let driven = is_alone.then(start);
        let name = |items: &mut _| state.op.name_items(&args, items);
        let (number, previous) = queue.order.enqueue(state.op.kind(), name, driven.clone());
        pending.push(Call::new((number, size), deadline, args, reply));
        let needs_another = pending.needs_another_loop(state.min_batch());
        let own = driven.or_else(|| needs_another.then(start));
        pending.loops += usize::from(own.is_some());
        Enqueued { state: state.clone(), own, is_alone, previous }
    }
}

impl<O: Op> Enqueued<O> {
    /// Waits for the result of the call, and drives its poll loop while no other call needs that.
    pub(crate) async fn result(
        self,
        reply: &mut oneshot::Receiver<Result<O::Output>>,
    ) -> Result<O::Output> {
        let result = match self.own {
            Some(own) if self.is_alone => drive(own, reply).await,
            own => {
                self.state.news.notify_one();
                own.iter().chain(&self.previous).for_each(|request| request.spawn());
                reply.await
            }
        };
        // The sender is dropped only when the runtime shuts down.
        result.unwrap_or_else(|_| Err(Error::closed()))
    }
}
