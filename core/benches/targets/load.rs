//! What is put on a queue in every scenario: items added, leased and completed, in three ways.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use leaseq::{Item, WorkQueue};

use crate::setup::{DATA, at_once};

/// How many calls there are at the same time, and how many items in each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calls {
    pub(crate) at_once: usize,
    pub(crate) items: usize,
}

/// One call for one item after the other.
pub(crate) const ONE: Calls = Calls { at_once: 1, items: 1 };
/// Single calls by 100 tasks.
pub(crate) const MANY: Calls = Calls { at_once: 100, items: 1 };
/// Batches of 100, one after the other.
pub(crate) const BULK: Calls = Calls { at_once: 1, items: 100 };
pub(crate) const ALL: [Calls; 3] = [ONE, MANY, BULK];

impl Calls {
    pub(crate) fn name(self) -> String {
        match (self.at_once, self.items) {
            (1, 1) => "one at a time".to_owned(),
            (1, items) => format!("batches of {items}"),
            (at_once, _) => format!("{at_once} at once"),
        }
    }

    /// The way that [`name`](Calls::name) means.
    pub(crate) fn named(name: &str) -> Calls {
        *ALL.iter().find(|calls| calls.name() == name).unwrap()
    }

    /// Adds so many items with so many bytes of data.
    pub(crate) async fn add(self, queue: &WorkQueue, items: usize, data: usize) -> Duration {
        let (left, data) = (Arc::new(AtomicUsize::new(items)), Arc::new(vec![b'x'; data]));
        self.run(queue, move |queue| {
            let (left, data) = (left.clone(), data.clone());
            async move {
                while let Some(items) = take(&left, self.items) {
                    if self.items == 1 {
                        assert!(queue.add_item(Item::new(data.as_slice())).await.unwrap());
                    } else {
                        let items =
                            (0..items).map(|_| Item::new(data.as_slice())).collect::<Vec<_>>();
                        let added = queue.add_items(items).await.unwrap();
                        assert!(added.iter().all(|&added| added));
                    }
                }
                0
            }
        })
        .await
        .1
    }

    /// Leases and completes what is there, until there is nothing left: how many it was.
    pub(crate) async fn process(self, queue: &WorkQueue) -> (usize, Duration) {
        self.run(queue, move |queue| async move {
            let mut done = 0;
            if self.items == 1 {
                while let Some(lease) = queue.lease(at_once()).await.unwrap() {
                    done += usize::from(queue.complete(&lease).await.unwrap());
                }
                return done;
            }
            loop {
                let leases = queue.lease_many(self.items, at_once()).await.unwrap();
                if leases.is_empty() {
                    return done;
                }
                let completed = queue.complete_many(&leases).await.unwrap();
                done += completed.into_iter().filter(|&completed| completed).count();
            }
        })
        .await
    }

    async fn run<W, F>(self, queue: &WorkQueue, work: W) -> (usize, Duration)
    where
        W: Fn(WorkQueue) -> F,
        F: Future<Output = usize> + Send + 'static,
    {
        let begun = Instant::now();
        let tasks = (0..self.at_once).map(|_| tokio::spawn(work(queue.clone())));
        let mut done = 0;
        for task in tasks.collect::<Vec<_>>() {
            done += task.await.unwrap();
        }
        (done, begun.elapsed())
    }
}

/// Single calls, 100 at once: each caller adds, leases and completes by turns, so many times, so that the
/// queue stays short.
pub(crate) async fn by_turns(queue: &WorkQueue, each: usize) -> Duration {
    let work = |queue: WorkQueue| async move {
        for _ in 0..each {
            assert!(queue.add_item(Item::new([b'x'; DATA])).await.unwrap());
            let lease = queue.lease(at_once()).await.unwrap().unwrap();
            assert!(queue.complete(&lease).await.unwrap());
        }
        each
    };
    MANY.run(queue, work).await.1
}

/// Up to so many of what is left.
fn take(left: &AtomicUsize, most: usize) -> Option<usize> {
    let some = |left: usize| (left > 0).then(|| left.saturating_sub(most));
    let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, some).ok()?;
    Some(before.min(most))
}
