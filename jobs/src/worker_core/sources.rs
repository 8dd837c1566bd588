//! The queues of a worker, and what it knows of each: whether it is worth asking, and what waits on it.
//!
//! A queue that has given less than it was asked for is empty. While a slot is free, one call that leases waits on it.
//! Together these calls wait for no more jobs than there are free slots, except that each waits for at least one: with
//! fewer free slots than queues, or when slots are taken meanwhile, the worker may obtain more leases than it has slots
//! for, which it gives back at once.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use leaseq::{Backoff, Lease, Result};

/// The longest pause after a failed request.
const MAX_PAUSE: Duration = Duration::from_secs(5);

type Wait = Pin<Box<dyn Future<Output = Result<Vec<Lease>>> + Send>>;

enum Known {
    /// Nothing: ask.
    Nothing,
    /// It is empty, and nothing waits on it.
    Empty,
    /// It is empty, and a call waits for so many jobs.
    Waiting { wait: Wait, count: usize },
    /// A request has failed: ask after this time.
    Failed { until: Instant },
}

struct Source {
    known: Known,
    backoff: Backoff,
    failing: bool,
}

#[derive(Default)]
pub(super) struct Sources(Vec<Source>);

impl Sources {
    /// One more queue.
    pub(super) fn add(&mut self) {
        let backoff = Backoff::up_to(MAX_PAUSE);
        self.0.push(Source { known: Known::Nothing, backoff, failing: false });
    }

    /// The queues that are worth asking, sorted.
    pub(super) fn worth_asking(&self) -> Vec<usize> {
        let worth =
            |(i, source): (usize, &Source)| matches!(source.known, Known::Nothing).then_some(i);
        self.0.iter().enumerate().filter_map(worth).collect()
    }

    /// Whether every queue was empty when it was asked last.
    pub(super) fn all_empty(&self) -> bool {
        self.0.iter().all(|source| matches!(source.known, Known::Empty))
    }

    /// Nothing is known any more. Ends the calls that wait; the core gives back what they have obtained.
    pub(super) fn forget(&mut self) {
        for source in &mut self.0 {
            if !matches!(source.known, Known::Failed { .. }) {
                source.known = Known::Nothing;
            }
        }
    }

    /// What was empty is worth asking again.
    pub(super) fn forget_empty(&mut self) {
        for source in &mut self.0 {
            if matches!(source.known, Known::Empty) {
                source.known = Known::Nothing;
            }
        }
    }

    /// A request was answered. The queue has nothing more if it is empty.
    pub(super) fn answered(&mut self, queue: usize, empty: bool) {
        let source = &mut self.0[queue];
        source.known = if empty { Known::Empty } else { Known::Nothing };
        if source.failing {
            source.failing = false;
            source.backoff.reset();
        }
    }

    /// A request has failed. True for the first time since one was answered.
    pub(super) fn failed(&mut self, queue: usize) -> bool {
        let source = &mut self.0[queue];
        source.known = Known::Failed { until: Instant::now() + source.backoff.pause() };
        !std::mem::replace(&mut source.failing, true)
    }

    /// The queues on which a call should wait, and for how many jobs each, if so many slots are free.
    pub(super) fn unwatched(&self, free: usize) -> Vec<(usize, usize)> {
        let (mut open, mut waited) = (Vec::new(), 0);
        for (i, source) in self.0.iter().enumerate() {
            match source.known {
                Known::Nothing | Known::Empty => open.push(i),
                Known::Waiting { count, .. } => waited += count,
                Known::Failed { .. } => {}
            }
        }
        let share = free.saturating_sub(waited) / open.len().max(1);
        open.into_iter().map(|queue| (queue, share.max(1))).collect()
    }

    pub(super) fn watch(&mut self, queue: usize, count: usize, wait: Wait) {
        self.0[queue].known = Known::Waiting { wait, count };
    }

    /// When a queue that has failed is worth asking again.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.0
            .iter()
            .filter_map(|source| match source.known {
                Known::Failed { until } => Some(until),
                _ => None,
            })
            .min()
    }

    /// Queues whose pause is over are worth asking again.
    pub(super) fn end_pauses(&mut self) {
        let now = Instant::now();
        for source in &mut self.0 {
            if matches!(source.known, Known::Failed { until } if until <= now) {
                source.known = Known::Nothing;
            }
        }
    }

    /// Returns what the first call that waits has obtained, and from which queue. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> (usize, Result<Vec<Lease>>) {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<(usize, Result<Vec<Lease>>)> {
        for (i, source) in self.0.iter_mut().enumerate() {
            let Known::Waiting { wait, .. } = &mut source.known else { continue };
            if let Poll::Ready(answer) = wait.as_mut().poll(context) {
                source.known = Known::Nothing;
                return Poll::Ready((i, answer));
            }
        }
        Poll::Pending
    }
}
