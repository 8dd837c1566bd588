//! Operations on items that the engine answers at once: add, complete, extend, set_progress, release, fail,
//! remove, requeue, bury, revise, cancel, attach.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;

use crate::Result;
use crate::dispatch::batcher::op::{
    BatchOf, CallOf, Distributed, Next, Op, PendingOf, RequestFuture,
};
use crate::dispatch::batcher::{Batch, Batcher, Call};
use crate::dispatch::kind::{Items, Kind};
use crate::dispatch::queue_context::QueueContext;
use crate::engine::{Engine, RequestId};
use crate::name::QueueName;
use crate::options::{MAX_BATCH, MAX_SHARED_BYTES};
use crate::shared_adds::SharedAdds;

/// Whether a call with these inputs can share the request of earlier ones.
type Admits<I> = fn(&mut SharedAdds, &mut dyn Iterator<Item = &I>, &[I]) -> bool;
type Run<I, T> = fn(Arc<dyn Engine>, QueueName, Arc<Vec<I>>, RequestId) -> RequestFuture<Vec<T>>;

/// `I`: an input of a call. `T`: the result for it.
pub(crate) struct ItemOp<I, T> {
    kind: Kind,
    name: fn(&mut Items, &I),
    run: Run<I, T>,
    bytes: fn(&I) -> usize,
    admits: Admits<I>,
}

impl<I, T> ItemOp<I, T> {
    /// `name`: adds the items that an input names, as the order of calls compares them.
    pub(crate) fn new(kind: Kind, name: fn(&mut Items, &I), run: Run<I, T>) -> Self {
        ItemOp { kind, name, run, bytes: |_| 0, admits: |_, _, _| true }
    }

    /// Limits shared requests by the bytes of their inputs as well.
    pub(crate) fn limited_by_bytes(mut self, bytes: fn(&I) -> usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Limits shared requests to calls that do not depend on each other.
    pub(crate) fn limited_to(mut self, admits: Admits<I>) -> Self {
        self.admits = admits;
        self
    }
}

impl<I, T> Batcher<ItemOp<I, T>>
where
    I: Clone + Send + Sync + 'static,
    T: Send + 'static,
{
    /// Sends 1 to [`MAX_BATCH`] inputs in one request, which other calls may share. Returns soon after
    /// `deadline` at the latest. The request continues when this future is dropped.
    pub(crate) async fn call(&self, inputs: Vec<I>, deadline: Instant) -> Result<Vec<T>> {
        let (reply, mut replied) = oneshot::channel();
        let size = inputs.len();
        self.enqueue(inputs, size, deadline, reply).result(&mut replied).await
    }
}

impl<I> Batcher<ItemOp<I, Option<bool>>>
where
    I: Clone + Send + Sync + 'static,
{
    /// [`call`](Batcher::call), and again for the inputs that a step of the engine has left to another one. Each
    /// step answers some.
    pub(crate) async fn call_in_steps(
        &self,
        mut inputs: Vec<I>,
        mut deadline: Instant,
    ) -> Result<Vec<bool>> {
        let mut answers = vec![None; inputs.len()];
        loop {
            let given = self.call(inputs.clone(), deadline).await?;
            let open = answers.iter_mut().filter(|answer| answer.is_none());
            open.zip(&given).for_each(|(answer, given)| *answer = *given);
            let mut given = given.into_iter();
            inputs.retain(|_| matches!(given.next(), Some(None)));
            if inputs.is_empty() {
                return Ok(answers.into_iter().flatten().collect());
            }
            deadline = self.queue().context.until();
        }
    }
}

impl<I, T> Op for ItemOp<I, T>
where
    I: Clone + Send + Sync + 'static,
    T: Send + 'static,
{
    type Args = Vec<I>;
    type Output = Vec<T>;
    type Request = Arc<Vec<I>>;
    type Reply = Vec<T>;

    fn kind(&self) -> Kind {
        self.kind
    }

    fn name_items(&self, inputs: &Vec<I>, items: &mut Items) {
        inputs.iter().for_each(|input| (self.name)(items, input));
    }

    fn next_batch(
        &self,
        _: &QueueContext,
        pending: &mut PendingOf<Self>,
        limit: u64,
    ) -> BatchOf<Self> {
        let (mut count, mut size, mut bytes) = (0, 0, 0);
        let mut shared = SharedAdds::default();
        for call in pending.iter().take_while(|call| call.number < limit) {
            size += call.size;
            bytes += call.args.iter().map(self.bytes).sum::<usize>();
            let full = size > MAX_BATCH || bytes > MAX_SHARED_BYTES;
            let mut earlier = pending.iter().take(count).flat_map(|call| &call.args);
            let admitted = (self.admits)(&mut shared, &mut earlier, &call.args);
            if count > 0 && (full || !admitted) {
                break;
            }
            count += 1;
        }
        let mut calls = pending.take_first(count);
        let mut inputs = Vec::new();
        for call in &mut calls {
            call.mark_sent();
            match inputs.is_empty() {
                true => inputs = std::mem::take(&mut call.args),
                false => inputs.append(&mut call.args),
            }
        }
        batch_of(calls, inputs)
    }

    fn send(
        &self,
        queue: &Arc<QueueContext>,
        batch: &mut BatchOf<Self>,
        id: RequestId,
    ) -> RequestFuture<Vec<T>> {
        (self.run)(queue.context.engine.clone(), queue.queue.clone(), batch.request.clone(), id)
    }

    fn split(
        &self,
        batch: BatchOf<Self>,
    ) -> std::result::Result<Vec<BatchOf<Self>>, BatchOf<Self>> {
        let mut inputs = batch.request.iter();
        let alone = batch.calls.into_iter().map(|call| {
            let own = inputs.by_ref().take(call.size).cloned().collect();
            batch_of(vec![call], own)
        });
        Ok(alone.collect())
    }

    fn distribute(
        &self,
        _: &Arc<QueueContext>,
        _: &mut PendingOf<Self>,
        batch: BatchOf<Self>,
        reply: Vec<T>,
    ) -> Distributed<Vec<T>> {
        let mut results = reply.into_iter();
        let each = batch.calls.into_iter().filter_map(|call| {
            let own = results.by_ref().take(call.size).collect();
            call.deliver(own)
        });
        Distributed { deliveries: each.collect(), served_in_full: true, next: Next::Send }
    }
}

fn batch_of<I, T>(calls: Vec<CallOf<ItemOp<I, T>>>, inputs: Vec<I>) -> BatchOf<ItemOp<I, T>>
where
    I: Clone + Send + Sync + 'static,
    T: Send + 'static,
{
    let last = calls.last().map_or(0, |call: &Call<_, _>| call.number);
    let until = calls.iter().filter_map(|call| call.deadline).max().unwrap_or_else(Instant::now);
    Batch { calls, last, until, request: Arc::new(inputs) }
}
