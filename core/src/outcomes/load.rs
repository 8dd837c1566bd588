//! How often the waits of a client ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How often each id is asked about, if the load is no higher than `MAX_LOAD`.
pub(super) const CHECK_EVERY: Duration = Duration::from_secs(1);
/// A registration of twice that time ends before any that a set clock has left.
const CHECK_AT_LEAST_EVERY: Duration = Duration::from_secs(50);
/// In ids a second.
const MAX_LOAD: usize = 10_000;
/// A request costs the server as much as so many ids.
const REQUEST: usize = 100;

/// What one round of asking costs: the ids, and a request for each queue. All queues of a client share it, so that the
/// client asks the less often the more it waits for.
#[derive(Default)]
pub(super) struct Load(AtomicUsize);

/// The part of one queue.
#[derive(Default)]
pub(super) struct Share {
    load: Arc<Load>,
    cost: usize,
}

impl Share {
    pub(super) fn of(load: &Arc<Load>) -> Share {
        Share { load: load.clone(), cost: 0 }
    }

    /// The calls of this queue wait for so many ids.
    pub(super) fn set(&mut self, ids: usize) {
        let cost = if ids == 0 { 0 } else { ids + REQUEST };
        self.load.0.fetch_add(cost, Ordering::Relaxed);
        self.load.0.fetch_sub(std::mem::replace(&mut self.cost, cost), Ordering::Relaxed);
    }

    /// How often each id is asked about.
    pub(super) fn period(&self) -> Duration {
        let load = self.load.0.load(Ordering::Relaxed) as f64 / MAX_LOAD as f64;
        CHECK_EVERY.mul_f64(load.max(1.0)).min(CHECK_AT_LEAST_EVERY)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_queues_of_a_client_share_what_it_may_ask() {
        let load = Arc::default();
        let mut first = Share::of(&load);
        first.set(9_000);
        assert_eq!(first.period(), CHECK_EVERY);
        // Each of them may send a request in each period.
        let others: Vec<Share> = std::iter::repeat_with(|| {
            let mut share = Share::of(&load);
            share.set(1);
            share
        })
        .take(1_000)
        .collect();
        let period = others[0].period().as_secs_f64();
        assert_eq!(period, first.period().as_secs_f64());
        assert!(1_001.0 / period <= 100.0 && 10_000.0 / period <= 10_000.0, "{period}");
        first.set(1_000_000);
        assert_eq!(others[0].period(), CHECK_AT_LEAST_EVERY);
        first.set(10);
        drop(others);
        assert_eq!(first.period(), CHECK_EVERY);
        drop(first);
        assert_eq!(load.0.load(Ordering::Relaxed), 0);
    }
}
