//! What the engine is asked for, also when its reply was lost.

use std::sync::Arc;
use std::time::Duration;

use super::args::Completing;
use super::batch::LeasePayload;
use crate::Result;
use crate::dispatch::ops::give_back::GiveBack;
use crate::dispatch::queue_context::QueueContext;
use crate::engine::{Complete, Leased, RequestId};

/// Completes and leases. The completing calls get their replies even if the leasing fails.
pub(super) fn send(
    queue: &Arc<QueueContext>,
    payload: &mut LeasePayload,
    id: RequestId,
) -> impl Future<Output = Result<Leased>> + Send + 'static {
    let queue = queue.clone();
    let completes = std::mem::take(&mut payload.completes);
    let completing = std::mem::take(&mut payload.completing);
    let wanted = std::mem::take(&mut payload.wanted);
    let poll_interval = payload.poll_interval;
    async move {
        let (engine, queue) = (&queue.context.engine, &queue.queue);
        if completes.is_empty() {
            return engine.lease(queue, &wanted, poll_interval, &id).await;
        }
        if wanted.is_empty() {
            let completed = engine.complete(queue, &completes, &id).await?;
            deliver_completed(completing, &completes, &completed);
            return Ok(Leased { items: Vec::new(), look_in: Some(Duration::ZERO) });
        }
        let both =
            engine.complete_and_lease(queue, &completes, &wanted, poll_interval, &id).await?;
        deliver_completed(completing, &completes, &both.completed);
        both.leased
    }
}

fn deliver_completed(completing: Vec<Completing>, completes: &[Complete], results: &[bool]) {
    let mut results = completes.iter().zip(results);
    for Completing { handles, reply, .. } in completing {
        let own = handles.iter().zip(results.by_ref());
        let completed = own.map(|(handle, (complete, done))| {
            handle.completed(*done, complete.strict);
            *done
        });
        let _ = reply.send(completed.collect());
    }
}

/// Asks for the lost reply to a request that leases until it comes, and gives back what it names. It does so
/// even longer than those leases last, since a server that hangs may execute the request later. The requests
/// name nothing: if the first one was never executed, nothing is leased now.
pub(super) async fn recover(
    queue: Arc<QueueContext>,
    id: RequestId,
    has_completes: bool,
    give_back: GiveBack,
) {
    let QueueContext { context, queue, .. } = &*queue;
    let mut backoff = context.backoff();
    while !context.closed.is_cancelled() {
        let id = RequestId { until: context.until(), ..id.clone() };
        let (engine, none) = (&context.engine, Duration::ZERO);
        let lost = if has_completes {
            let both = engine.complete_and_lease(queue, &[], &[], none, &id).await;
            both.and_then(|both| both.leased)
        } else {
            engine.lease(queue, &[], none, &id).await
        };
        match lost {
            Ok(Leased { items, .. }) => {
                return give_back.release(items.iter().map(|item| item.token).collect());
            }
            Err(error) if error.kind().is_retryable() => context.pause(&mut backoff).await,
            Err(_) => return,
        }
    }
}
