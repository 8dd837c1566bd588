//! Random calls on a few items and unique keys.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leaseq::{
    CompleteOptions, FailOptions, Item, Lease, LeaseOptions, ReleaseOptions, Revision, State,
    WorkQueue,
};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::support::*;

/// What the answers say has happened.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) added: AtomicU64,
    pub(crate) leased: AtomicU64,
    pub(crate) completed: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) removed: AtomicU64,
}

/// Ids that are unique keys as well, and two that are as long as they can be.
pub(crate) fn names() -> Vec<Vec<u8>> {
    let longest = (0..512).map(|i| (i * 7 % 256) as u8).collect::<Vec<u8>>();
    let mut other = longest.clone();
    other[511] ^= 1;
    let short = (0..5).map(|i| format!("{i}").into_bytes());
    short.chain([b"0:1".to_vec(), vec![0], vec![1, 0], b":".to_vec(), longest, other]).collect()
}

/// One of those who make calls.
pub(crate) struct Caller {
    pub(crate) queue: WorkQueue,
    pub(crate) rng: StdRng,
    pub(crate) names: Arc<Vec<Vec<u8>>>,
    /// Leases of all callers, current ones and others.
    pub(crate) leases: Arc<Mutex<Vec<Arc<Lease>>>>,
    pub(crate) tally: Arc<Tally>,
    /// Whether the queue is dropped at times: then totals begin anew.
    pub(crate) drops: bool,
}

fn count(counter: &AtomicU64, by: usize) {
    counter.fetch_add(by as u64, Ordering::Relaxed);
}

impl Caller {
    pub(crate) async fn call(&mut self) {
        match self.rng.random_range(0..100) {
            0..30 => self.add().await,
            30..48 => self.lease().await,
            48..58 => self.complete().await,
            58..61 => self.complete_and_lease().await,
            61..64 => self.fail().await,
            64..67 => self.release().await,
            67..70 => self.extend().await,
            _ => self.operate().await,
        }
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.rng.random_bool(probability)
    }

    fn name(&mut self) -> Vec<u8> {
        self.names.choose(&mut self.rng).unwrap().clone()
    }

    fn time(&mut self) -> Duration {
        ms(*[1, 5, 20, 100, 1_000].choose(&mut self.rng).unwrap())
    }

    fn item(&mut self) -> Item {
        let mut item = Item::new(self.name()).priority(self.rng.random_range(0..3));
        if self.chance(0.7) {
            item = item.with_id(self.name());
        }
        if self.chance(0.8) {
            item = item.unique(self.name());
            if self.chance(0.2) {
                item = item.unique_for(self.time());
            }
        }
        if self.chance(0.3) {
            item = item.replace();
        }
        if self.chance(0.3) {
            item = item.retain(self.time());
        }
        if self.chance(0.3) {
            item = item.max_attempts(self.rng.random_range(1..3));
        }
        if self.chance(0.3) {
            // With a delay that is not longer.
            let time = self.time();
            item = item.expires_in(time);
            if self.chance(0.3) {
                item = item.delay(time / 2);
            }
        } else if self.chance(0.2) {
            item = item.delay(self.time());
        }
        item
    }

    async fn add(&mut self) {
        let items: Vec<_> = match self.rng.random_range(0..4) {
            0 => (0..self.rng.random_range(2..6)).map(|_| self.item()).collect(),
            _ => vec![self.item()],
        };
        let added = self.queue.add_items(items).await.unwrap();
        count(&self.tally.added, added.into_iter().filter(|added| *added).count());
    }

    fn lease_options(&mut self) -> LeaseOptions {
        LeaseOptions::new(self.time()).wait(Duration::ZERO)
    }

    fn keep(&mut self, new: Vec<Lease>) {
        count(&self.tally.leased, new.len());
        let mut leases = self.leases.lock().unwrap();
        leases.extend(new.into_iter().map(Arc::new));
        while leases.len() > 30 {
            let at = self.rng.random_range(0..leases.len());
            leases.swap_remove(at);
        }
    }

    /// Some leases, perhaps one of them twice.
    fn some_leases(&mut self) -> Vec<Arc<Lease>> {
        let leases = self.leases.lock().unwrap();
        let count = if self.rng.random_bool(0.6) { 1 } else { 4 };
        (0..count).filter_map(|_| leases.choose(&mut self.rng).cloned()).collect()
    }

    async fn lease(&mut self) {
        let (options, count) = (self.lease_options(), self.rng.random_range(1..4));
        let leases = self.queue.lease_many(count, options).await.unwrap();
        self.keep(leases);
    }

    fn complete_options(&mut self, count: usize) -> CompleteOptions {
        let mut options = CompleteOptions::new();
        if self.chance(0.3) {
            options = options.strict();
        }
        if self.chance(0.3) {
            options = options.retain(self.time());
        }
        if self.chance(0.5) {
            // Some are empty.
            options = options.results((0..count).map(|i| (i != 1).then(|| vec![b'r'; i].into())));
        }
        options
    }

    async fn complete(&mut self) {
        let leases = self.some_leases();
        let options = self.complete_options(leases.len());
        let leases = leases.iter().map(AsRef::as_ref);
        let done = self.queue.complete_many_with(leases, options).await.unwrap();
        count(&self.tally.completed, done.into_iter().filter(|done| *done).count());
    }

    async fn complete_and_lease(&mut self) {
        let leases = self.some_leases();
        let (how, options) = (self.complete_options(leases.len()), self.lease_options());
        let both = leases.iter().map(AsRef::as_ref);
        let both = self.queue.complete_and_lease_with(both, how, 2, options).await.unwrap();
        count(&self.tally.completed, both.completed.iter().filter(|done| **done).count());
        self.keep(both.leases);
    }

    async fn fail(&mut self) {
        let Some(lease) = self.some_leases().pop() else { return };
        let mut options = FailOptions::new();
        if self.chance(0.4) {
            options = options.dead();
        } else if self.chance(0.5) {
            options = options.delay(self.time());
        }
        let failed = self.queue.fail_with(&lease, "failed", options).await;
        match failed {
            Ok(_) => count(&self.tally.failed, 1),
            Err(error) => assert_eq!(error.kind(), leaseq::ErrorKind::LeaseLost, "{error}"),
        }
    }

    async fn release(&mut self) {
        let Some(lease) = self.some_leases().pop() else { return };
        let delay = if self.chance(0.5) { self.time() } else { Duration::ZERO };
        let options = ReleaseOptions::new().delay(delay).reason("busy");
        if let Err(error) = self.queue.release_with(&lease, options).await {
            assert_eq!(error.kind(), leaseq::ErrorKind::LeaseLost, "{error}");
        }
    }

    async fn extend(&mut self) {
        let Some(lease) = self.some_leases().pop() else { return };
        let time = self.time();
        if let Err(error) = self.queue.extend(&lease, time).await {
            assert_eq!(error.kind(), leaseq::ErrorKind::LeaseLost, "{error}");
        }
    }

    /// What operators and cleaners do.
    async fn operate(&mut self) {
        let (name, other) = (self.name(), self.name());
        let queue = self.queue.clone();
        match self.rng.random_range(0..100) {
            0..15 => {
                let removed = queue.remove_many([name, other]).await.unwrap();
                count(&self.tally.removed, removed.into_iter().filter(|done| *done).count());
            }
            15..35 => drop(queue.cancel_many([name, other]).await.unwrap()),
            35..50 => drop(queue.requeue([name, other]).await.unwrap()),
            50..60 => drop(queue.bury([name, other], "buried").await.unwrap()),
            60..75 => {
                let mut revision = Revision::new();
                if self.chance(0.5) {
                    revision = revision.delay(self.time());
                }
                if self.chance(0.5) {
                    revision = revision.priority(self.rng.random_range(0..3));
                }
                queue.revise(name, revision.max_attempts(2)).await.unwrap();
            }
            75..90 => drop(queue.light_clean().await.unwrap()),
            90..97 => {
                let state = *State::ALL.choose(&mut self.rng).unwrap();
                count(&self.tally.removed, queue.purge(state).await.unwrap() as usize);
            }
            97..99 => drop(queue.get_many([name, other]).await.unwrap()),
            _ if self.drops => drop(queue.drop_queue().await.unwrap()),
            _ => assert_sound(&queue).await,
        }
    }
}
