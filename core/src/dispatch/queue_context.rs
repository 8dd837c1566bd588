//! What all kinds of calls on one queue share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::context::Context;
use super::lanes::Lanes;
use super::order::Order;
use crate::engine::{RequestId, Swap, Swapped};
use crate::name::QueueName;
use crate::{Error, Result};

pub(crate) struct QueueContext {
    pub(crate) context: Arc<Context>,
    pub(crate) queue: QueueName,
    pub(crate) lanes: Arc<Lanes>,
    pub(super) order: Order,
    /// A task of this client processes schedules that are due.
    pub(crate) is_ticking: AtomicBool,
}

impl QueueContext {
    pub(super) fn new(context: Arc<Context>, queue: QueueName) -> Arc<QueueContext> {
        let lanes = Lanes::new(&context, &queue);
        Arc::new(QueueContext {
            context,
            queue,
            lanes,
            order: Order::default(),
            is_ticking: AtomicBool::new(false),
        })
    }

    /// Swaps a schedule of the queue.
    pub(crate) async fn swap_schedule(&self, swap: &Swap, until: Instant) -> Result<Swapped> {
        let engine = &self.context.engine;
        let swap = async |id: &RequestId| engine.swap_schedule(&self.queue, swap, id).await;
        self.lanes.run(until, swap).await
    }

    /// The deadline of a call has passed. `sent`: its request is in flight.
    pub(super) fn late(&self, sent: bool) -> Error {
        Error::unavailable(format_args!("queue {}: no answer in time", self.queue), sent)
    }

    /// The poll loop of a call has ended before the reply. `sent`: its request is in flight.
    pub(super) fn stopped(&self, sent: bool) -> Error {
        if std::thread::panicking() {
            Error::stopped(&self.queue, sent)
        } else {
            // The runtime shuts down.
            Error::closed()
        }
    }
}
