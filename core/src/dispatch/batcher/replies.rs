//! Answers the callers of a request.

use std::sync::Arc;

use tokio::task::yield_now;

use super::call::Delivery;
use crate::dispatch::context::Context;

/// How often to yield after a slice of the replies: for the next calls of these callers, for the request that
/// those share, and for the connection to write it.
const YIELDS: usize = 3;
const MAX_SLICES: usize = 2;

/// Large groups are answered in slices, so that the next calls of the first slice are in flight when the second
/// wakes.
pub(super) fn deliver_replies<R: Send + 'static>(
    context: &Arc<Context>,
    deliveries: Vec<Delivery<R>>,
) {
    let slices = (deliveries.len() / context.engine.min_batch()).min(MAX_SLICES);
    if slices == 0 {
        return deliveries.into_iter().for_each(deliver);
    }
    let size = deliveries.len().div_ceil(slices);
    let shared = context.clone();
    context.spawn(async move {
        let _lock = shared.reply_lock.lock().await;
        let mut deliveries = deliveries.into_iter();
        for _ in 0..slices {
            deliveries.by_ref().take(size).for_each(deliver);
            for _ in 0..YIELDS {
                yield_now().await;
            }
        }
    });
}

fn deliver<R>((reply, result): Delivery<R>) {
    // A caller that is gone drops the result.
    let _ = reply.send(result);
}
