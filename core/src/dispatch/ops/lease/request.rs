//! What the engine is asked for, also when its reply was lost.

use std::sync::Arc;
use std::time::Duration;

use super::args::Completing;
use super::batch::LeasePayload;
use crate::Result;
use crate::dispatch::ops::give_back::GiveBack;
use crate::dispatch::queue_context::QueueContext;
use crate::engine::{Complete, LeaseRequest, Leased, RequestId};
use crate::schedule::begin_to_tick;

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
        let leased = execute(&queue, completes, completing, wanted, poll_interval, id).await?;
        if leased.is_to_tick {
            begin_to_tick(&queue);
        }
        Ok(leased)
    }
}

async fn execute(
    queue: &QueueContext,
    completes: Vec<Complete>,
    completing: Vec<Completing>,
    wanted: Vec<LeaseRequest>,
    poll_interval: Duration,
    id: RequestId,
) -> Result<Leased> {
    let (engine, queue) = (&queue.context.engine, &queue.queue);
    if completes.is_empty() {
        return engine.lease(queue, &wanted, poll_interval, &id).await;
    }
    if wanted.is_empty() {
        let completed = engine.complete(queue, &completes, &id).await?;
        deliver_completed(completing, &completes, &completed);
        let (items, look_in) = (Vec::new(), Some(Duration::ZERO));
        return Ok(Leased { items, look_in, is_to_tick: false });
    }
    let both = engine.complete_and_lease(queue, &completes, &wanted, poll_interval, &id).await?;
    deliver_completed(completing, &completes, &both.completed);
    both.leased
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

/// What is to be done about a request that leases and whose reply was lost.
pub(super) struct Recovery {
    has_completes: bool,
    /// The engine may count on the client to ask again.
    waits: bool,
    give_back: GiveBack,
}

impl Recovery {
    pub(super) fn new(request: &LeasePayload, give_back: GiveBack) -> Recovery {
        let waits = !request.poll_interval.is_zero();
        Recovery { has_completes: request.has_completes, waits, give_back }
    }

    /// Asks for the lost reply until it comes, and gives back what it names. It does so even longer than those leases
    /// last, since a server that hangs may execute the request later. The requests name nothing: if the first one was
    /// never executed, nothing is leased now.
    pub(super) async fn run(self, queue: Arc<QueueContext>, id: RequestId) {
        let QueueContext { context, queue: name, lanes, .. } = &*queue;
        let (engine, none) = (&context.engine, Duration::ZERO);
        let mut backoff = context.backoff();
        while !context.closed.is_cancelled() {
            let id = RequestId { until: context.until(), ..id.clone() };
            let lost = if self.has_completes {
                let both = engine.complete_and_lease(name, &[], &[], none, &id).await;
                both.and_then(|both| both.leased)
            } else {
                engine.lease(name, &[], none, &id).await
            };
            match lost {
                Ok(Leased { items, .. }) => {
                    if items.is_empty() && self.waits {
                        // Another client waits for the time at which the calls of this one were to ask again.
                        let pass_on = async |id: &_| engine.lease(name, &[], none, id).await;
                        let _ = lanes.run(context.until(), pass_on).await;
                    }
                    return self.give_back.release(items.iter().map(|item| item.token).collect());
                }
                Err(error) if error.kind().is_retryable() => context.pause(&mut backoff).await,
                Err(_) => return,
            }
        }
    }
}
