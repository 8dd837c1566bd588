//! Runs the calls of one event loop, on a thread of the core.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use leaseq::blocking::ProcessBound;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::answer::Answer;
use crate::inbox::{Inbox, Reply};

/// A call on its way, or several that share a request.
pub(crate) type Call = Pin<Box<dyn Future<Output = Done> + Send>>;

/// What became of a call.
pub(crate) enum Done {
    One(Reply),
    /// Replies, and calls that go on waiting.
    Many(Vec<Reply>, Vec<Call>),
}

/// A call that the engine answers soon.
pub(crate) fn call(
    number: u64,
    work: impl Future<Output = leaseq::Result<Answer>> + Send + 'static,
) -> Call {
    Box::pin(async move {
        let answer = AssertUnwindSafe(work).catch_unwind().await;
        Done::One((number, answer.ok()))
    })
}

/// Calls that share a request; what they get, and calls that go on waiting.
pub(crate) fn calls(
    numbers: Vec<u64>,
    work: impl Future<Output = (Vec<Reply>, Vec<Call>)> + Send + 'static,
) -> Call {
    Box::pin(async move {
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok((replies, waiting)) => Done::Many(replies, waiting),
            Err(_) => Done::Many(numbers.into_iter().map(|n| (n, None)).collect(), Vec::new()),
        }
    })
}

/// A call that may wait long. It is dropped when its caller abandons it.
pub(crate) fn waiting_call(
    number: u64,
    abandoned: Arc<ProcessBound<Notify>>,
    work: impl Future<Output = leaseq::Result<Answer>> + Send + 'static,
) -> Call {
    Box::pin(async move {
        let Ok(abandoned) = abandoned.get("the call") else { return Done::One((number, None)) };
        let answer = tokio::select! {
            biased;
            () = abandoned.notified() => None,
            answer = AssertUnwindSafe(work).catch_unwind() => answer.ok(),
        };
        Done::One((number, answer))
    })
}

/// Runs calls until the loop is gone and all of them have ended. Calls that come together begin in
/// their order, and replies that come together wake the loop once.
pub(crate) async fn drive(mut calls: UnboundedReceiver<Vec<Call>>, inbox: Arc<Inbox>) {
    let mut running = FuturesUnordered::new();
    let mut replies = Vec::new();
    poll_fn(|task| {
        let open = loop {
            match calls.poll_recv(task) {
                Poll::Ready(Some(calls)) => running.extend(calls),
                Poll::Ready(None) => break false,
                Poll::Pending => break true,
            }
        };
        while let Poll::Ready(Some(done)) = running.poll_next_unpin(task) {
            match done {
                Done::One(reply) => replies.push(reply),
                Done::Many(several, waiting) => {
                    replies.extend(several);
                    running.extend(waiting);
                }
            }
        }
        inbox.put(&mut replies);
        if open || !running.is_empty() { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}
