//! Keeps client and server at work at the same time: when a request leaves, and when those who called
//! together are answered. Left alone they get into step: all call, and wait; the server answers all, and
//! waits.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::oneshot;
use tokio::task::{unconstrained, yield_now};

use super::Context;

/// How often a request steps back for others at most. Each time a runtime runs 60 tasks or so, and
/// [`MAX_BATCH`](crate::options::MAX_BATCH) calls are as many as go along.
const STEPS_BACK: usize = 16;
/// How often to step back for callers that were answered: for their next calls, for the request that
/// these make, and for the connection to write it.
const STEPS_ASIDE: usize = 3;

/// After so many requests in a row with one call each, the next ones do not step back: it would be in
/// vain, and costs about half as much as a short operation of an engine in the same process.
const ALONE: u8 = 16;
/// One request in so many steps back all the same: where each is answered before the next call can be
/// made, nothing else would ever show that there are others.
const LOOKS_EVERY: u8 = 16;

/// Whether others call at the same time, as far as the last requests tell.
#[derive(Default)]
pub(super) struct Company {
    alone: u8,
}

impl Company {
    pub(super) fn is_likely(&self) -> bool {
        self.alone < ALONE
    }

    /// A request was answered: so many calls were in it, or have come meanwhile.
    pub(super) fn seen(&mut self, calls: usize) {
        self.alone = match self.alone {
            _ if calls > 1 => 0,
            alone if alone + 1 < ALONE - 1 + LOOKS_EVERY => alone + 1,
            _ => ALONE - 1,
        };
    }
}

/// What one call is told, and where.
pub(super) type Answered<T> = (oneshot::Sender<T>, T);

/// Before a request leaves: tasks that are about to make the same call get on board, as long as more
/// come. With none, this is nothing. `aboard`: how many there are; `None` if it need not wait for more.
pub(super) async fn board(aboard: impl Fn() -> Option<usize>) {
    let Some(mut before) = aboard() else { return };
    for _ in 0..STEPS_BACK {
        yield_now().await;
        match aboard() {
            Some(now) if now > before => before = now,
            _ => return,
        }
    }
}

/// Sends a request: to the point where it waits for the answer, whatever else this task has done by
/// now.
pub(super) async fn depart<R: Future + ?Sized>(mut request: Pin<&mut R>) -> Poll<R::Output> {
    unconstrained(poll_fn(|task| Poll::Ready(request.as_mut().poll(task)))).await
}

/// Gives callers their answers. So many that a request could come of them are given theirs in a turn of
/// their own, twice as many in two: what the first ones call next is on its way when the others go on.
pub(super) fn hand_over<T: Send + 'static>(context: &Arc<Context>, answers: Vec<Answered<T>>) {
    fn tell<T>((reply, answer): Answered<T>) {
        // A caller that is gone drops it.
        let _ = reply.send(answer);
    }
    let turns = (answers.len() / context.engine.worth_a_request()).min(2);
    if turns == 0 {
        return answers.into_iter().for_each(tell);
    }
    let each = answers.len().div_ceil(turns);
    let shared = context.clone();
    context.spawn(async move {
        let _turn = shared.turn.lock().await;
        let mut answers = answers.into_iter();
        for _ in 0..turns {
            answers.by_ref().take(each).for_each(tell);
            for _ in 0..STEPS_ASIDE {
                yield_now().await;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[tokio::test]
    async fn a_request_waits_for_all_that_are_about_to_call() {
        let calls = Arc::new(AtomicUsize::new(1));
        for _ in 0..300 {
            let calls = calls.clone();
            tokio::spawn(async move { calls.fetch_add(1, Relaxed) });
        }
        board(|| Some(calls.load(Relaxed))).await;
        assert_eq!(calls.load(Relaxed), 301);
    }

    #[test]
    fn who_is_alone_looks_for_company_now_and_then() {
        let mut company = Company::default();
        let mut looks = (0..100).filter(|_request| {
            let looks = company.is_likely();
            company.seen(1);
            looks
        });
        assert!(looks.by_ref().take(16).eq(0..16));
        assert_eq!(looks.collect::<Vec<_>>(), [31, 47, 63, 79, 95]);
        company.seen(2);
        assert!(company.is_likely());
    }

    #[tokio::test]
    async fn a_request_leaves_even_if_calls_never_cease() {
        let looks = AtomicUsize::new(0);
        board(|| Some(looks.fetch_add(1, Relaxed))).await;
        assert_eq!(looks.load(Relaxed), 1 + STEPS_BACK);
    }

    #[tokio::test]
    async fn a_request_waits_for_no_more_when_they_are_enough() {
        let calls = Arc::new(AtomicUsize::new(1));
        for _ in 0..10 {
            let calls = calls.clone();
            tokio::spawn(async move { calls.fetch_add(1, Relaxed) });
        }
        board(|| None).await;
        assert_eq!(calls.load(Relaxed), 1);
    }
}
