//! How long a request waits for more calls before it is sent.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use tokio::task::{unconstrained, yield_now};

/// How often a request yields at most. Each time a runtime runs about 60 tasks, and a request carries at most
/// [`MAX_BATCH`](crate::options::MAX_BATCH) calls.
const MAX_YIELDS: usize = 16;
/// After so many requests in a row with one call each, the next ones do not linger: that costs about half as
/// much as a short operation of an engine in the same process.
const ALONE: u8 = 16;
/// One request in so many lingers all the same. Where each is answered before the next call can be made,
/// nothing else would show that there are concurrent calls.
const PROBES_EVERY: u8 = 16;

/// Whether others call at the same time, as far as the last requests tell.
#[derive(Default)]
pub(super) struct ConcurrencyHint {
    alone: u8,
}

impl ConcurrencyHint {
    pub(super) fn is_concurrent(&self) -> bool {
        self.alone < ALONE
    }

    /// A request was answered. `calls`: those that it carried, and those that have come meanwhile.
    pub(super) fn observe(&mut self, calls: usize) {
        self.alone = match self.alone {
            _ if calls > 1 => 0,
            alone if alone + 1 < ALONE - 1 + PROBES_EVERY => alone + 1,
            _ => ALONE - 1,
        };
    }
}

/// Lets tasks run that are about to make the same call, as long as more calls come. `calls`: how many there
/// are; `None`: the request should not linger.
pub(super) async fn linger(calls: impl Fn() -> Option<usize>) {
    let Some(mut before) = calls() else { return };
    for _ in 0..MAX_YIELDS {
        yield_now().await;
        match calls() {
            Some(now) if now > before => before = now,
            _ => return,
        }
    }
}

/// Sends a request: polls it once, to where it waits for the reply, even if this task has used up its budget.
pub(super) async fn start_send<R: Future + ?Sized>(mut request: Pin<&mut R>) -> Poll<R::Output> {
    unconstrained(poll_fn(|task| Poll::Ready(request.as_mut().poll(task)))).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[tokio::test]
    async fn a_request_lingers_for_all_that_are_about_to_call() {
        let calls = Arc::new(AtomicUsize::new(1));
        for _ in 0..300 {
            let calls = calls.clone();
            tokio::spawn(async move { calls.fetch_add(1, Relaxed) });
        }
        linger(|| Some(calls.load(Relaxed))).await;
        assert_eq!(calls.load(Relaxed), 301);
    }

    #[test]
    fn a_lone_caller_probes_for_others_now_and_then() {
        let mut hint = ConcurrencyHint::default();
        let mut probes = (0..100).filter(|_request| {
            let lingers = hint.is_concurrent();
            hint.observe(1);
            lingers
        });
        assert!(probes.by_ref().take(16).eq(0..16));
        assert_eq!(probes.collect::<Vec<_>>(), [31, 47, 63, 79, 95]);
        hint.observe(2);
        assert!(hint.is_concurrent());
    }

    #[tokio::test]
    async fn a_request_is_sent_even_if_calls_never_cease() {
        let looks = AtomicUsize::new(0);
        linger(|| Some(looks.fetch_add(1, Relaxed))).await;
        assert_eq!(looks.load(Relaxed), 1 + MAX_YIELDS);
    }

    #[tokio::test]
    async fn a_request_does_not_linger_when_there_are_enough_calls() {
        let calls = Arc::new(AtomicUsize::new(1));
        for _ in 0..10 {
            let calls = calls.clone();
            tokio::spawn(async move { calls.fetch_add(1, Relaxed) });
        }
        linger(|| None).await;
        assert_eq!(calls.load(Relaxed), 1);
    }
}
