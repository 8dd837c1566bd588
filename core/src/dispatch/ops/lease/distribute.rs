//! Which calls get which leases: the first calls are served first.

use std::iter::Peekable;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::args::{LeaseCall, PendingLeases, waits_on};
use super::batch::{LeaseBatch, LeasePayload};
use crate::dispatch::batcher::op::{Distributed, Next};
use crate::dispatch::kind::Kind;
use crate::dispatch::ops::give_back::GiveBack;
use crate::dispatch::ops::unclaimed::UnclaimedLeases;
use crate::dispatch::queue_context::QueueContext;
use crate::engine::{Leased, LeasedItem};
use crate::lease::Lease;

pub(super) fn distribute(
    queue: &Arc<QueueContext>,
    pending: &mut PendingLeases,
    LeaseBatch { calls, request, .. }: LeaseBatch,
    leased: Leased,
    give_back: &GiveBack,
) -> Distributed<UnclaimedLeases> {
    pending.counted_on |= request.is_counted_on(&leased);
    let LeasePayload { items: wanted, poll_interval, begun, has_completes, .. } = request;
    // Fewer items than wanted, or none for calls that want none, and not because the reply would have been too large.
    let fell_short = leased.items.len() < wanted || wanted == 0;
    let is_drained = fell_short && leased.look_in != Some(Duration::ZERO);
    // A request that only completes says nothing about what there is.
    let has_more = !is_drained && (wanted > 0 || !has_completes);
    let mut items = leased.items.into_iter().peekable();
    let (mut deliveries, mut waiting) = (Vec::with_capacity(calls.len()), Vec::new());
    // Calls that did not fit into the request. They must not hold up others if they are not sent at once.
    let mut skipped = Vec::new();
    for mut call in calls {
        if call.is_gone() {
            skipped.extend(call.mark_sent());
            continue;
        }
        let leases = take_leases(queue, &mut items, &call, begun);
        let may_leave = !waits_on(&call) && (is_drained || has_searched_enough(queue, &call));
        let is_news = call.size == 0 && has_more;
        if !leases.is_empty() || is_news || may_leave {
            skipped.extend(call.mark_sent());
            // If the caller is gone meanwhile, the leases are dropped and thereby given back.
            deliveries.extend(call.deliver(UnclaimedLeases::new(leases, give_back)));
        } else {
            if is_drained {
                skipped.extend(call.mark_sent());
                begin_wait(&mut call);
            } else {
                search_on(queue, &mut call);
            }
            waiting.push(call);
        }
    }
    queue.order.discard(Kind::Lease, &skipped);
    give_back.release(items.map(|item| item.token).collect());
    let has_new_calls = !pending.is_empty();
    for call in waiting.into_iter().rev() {
        pending.put_back(call);
    }
    // The other poll loop may wait for calls that only this one could send.
    queue.order.put_back();
    let next = if has_new_calls || !is_drained || pending.is_empty() {
        Next::Send
    } else {
        Next::Rest(leased.look_in.unwrap_or(poll_interval).min(poll_interval))
    };
    Distributed { deliveries, served_in_full: !is_drained && wanted > 0, next }
}

fn take_leases(
    queue: &QueueContext,
    items: &mut Peekable<impl Iterator<Item = LeasedItem>>,
    call: &LeaseCall,
    begun: Instant,
) -> Vec<Lease> {
    let mut leases = Vec::new();
    while leases.len() < call.size
        && let Some(item) = items.next_if(|item| item.duration_ms == call.args.duration_ms)
    {
        leases.push(Lease::new(&queue.context, queue.queue.clone(), item, begun));
    }
    leases
}

/// From here on the caller may leave with nothing when its wait is over. Before, it would miss a reply that
/// is on its way.
fn begin_wait(call: &mut LeaseCall) {
    call.deadline = None;
    let _ = call.args.asked.set(());
}

/// The engine has answered, but a step is bounded, and items may lie behind what this one has looked at: the next step
/// has the time of a new call.
fn search_on(queue: &QueueContext, call: &mut LeaseCall) {
    call.deadline = call.deadline.map(|_| Instant::now() + queue.context.timeout);
}

/// Whether the call has searched for the time of a call since its wait ended. It gets nothing then, although steps that
/// come later might find an item.
fn has_searched_enough(queue: &QueueContext, call: &LeaseCall) -> bool {
    call.args.until.is_some_and(|until| until.elapsed() > queue.context.timeout)
}
