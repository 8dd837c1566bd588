//! A call, from when it is made until it has a reply.

use std::time::Instant;

use tokio::sync::oneshot;

use crate::{Error, Result};

/// What one call gets, and where.
pub(crate) type Delivery<R> = (oneshot::Sender<Result<R>>, Result<R>);

/// `A`: its arguments. `R`: its result.
pub(crate) struct Call<A, R> {
    /// Its place among the calls of all kinds.
    pub(crate) number: u64,
    /// The engine was asked for it, or will never be.
    sent: bool,
    /// How many items it is about.
    pub(crate) size: usize,
    /// When its caller must have a reply; `None`: it waits for an item and has been asked for once.
    pub(crate) deadline: Option<Instant>,
    pub(crate) args: A,
    /// `None`: its caller has a reply.
    reply: Option<oneshot::Sender<Result<R>>>,
}

impl<A, R> Call<A, R> {
    pub(crate) fn new(
        (number, size): (u64, usize),
        deadline: Instant,
        args: A,
        reply: oneshot::Sender<Result<R>>,
    ) -> Call<A, R> {
        Call { number, sent: false, size, deadline: Some(deadline), args, reply: Some(reply) }
    }

    /// Its number, if it was not sent before.
    pub(crate) fn mark_sent(&mut self) -> Option<u64> {
        (!std::mem::replace(&mut self.sent, true)).then_some(self.number)
    }

    pub(crate) fn unsent(&self) -> Option<u64> {
        (!self.sent).then_some(self.number)
    }

    /// Nobody waits for a reply.
    pub(crate) fn is_gone(&self) -> bool {
        self.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    /// Its caller has a reply.
    pub(crate) fn is_answered(&self) -> bool {
        self.reply.is_none()
    }

    pub(crate) fn fail(&mut self, error: Error) {
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(Err(error));
        }
    }

    pub(crate) fn deliver(self, result: R) -> Option<Delivery<R>> {
        self.reply.map(|reply| (reply, Ok(result)))
    }
}
