//! What the server has said lately. All viewers share it: however many there are, each thing is asked once in its time,
//! and nothing is asked while nobody looks.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use leaseq::{Diagnosis, HistoryKind, WorkersPage};

use crate::failure::Failure;
use crate::numbers::Counted;
use crate::past::Past;

/// The most entries of a cache. Old ones are dropped for new ones.
const MAX_ENTRIES: usize = 1_000;

/// A little less than the 2 s in which pages ask, so that each gets a new answer.
const LIVE: Duration = Duration::from_millis(1_900);

/// What was answered last, and when.
type Answer<V> = Option<(Instant, Result<V, Failure>)>;

struct Slot<V> {
    /// Held by the one who asks.
    asking: tokio::sync::Mutex<()>,
    /// It stays while somebody asks again, who may leave before there is another one.
    last: Mutex<Answer<V>>,
}

impl<V> Default for Slot<V> {
    fn default() -> Self {
        Slot { asking: tokio::sync::Mutex::default(), last: Mutex::default() }
    }
}

impl<V> Slot<V> {
    fn last(&self) -> MutexGuard<'_, Answer<V>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When it was used last, and what is there.
type Entry<V> = (Instant, Arc<Slot<V>>);

/// Answers, each good for a time.
pub(crate) struct Cache<K, V> {
    life: Duration,
    entries: Mutex<HashMap<K, Entry<V>>>,
}

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    pub(crate) fn new(life: Duration) -> Self {
        Cache { life, entries: Mutex::default() }
    }

    /// The answer, from a call of `ask` if there is none that is fresh enough. Of those who ask at the same time one
    /// calls it, and the others wait. Failures are kept for a moment.
    pub(crate) async fn get(
        &self,
        key: &K,
        ask: impl Future<Output = Result<V, Failure>>,
    ) -> Result<V, Failure> {
        self.renew(key, |_| true, |_| ask).await
    }

    /// The same for answers that go on from the one before, which `ask` gets, and that may lack what this caller wants.
    pub(crate) async fn renew<F: Future<Output = Result<V, Failure>>>(
        &self,
        key: &K,
        suffices: impl FnOnce(&V) -> bool,
        ask: impl FnOnce(Option<V>) -> F,
    ) -> Result<V, Failure> {
        let slot = self.slot(key);
        let _asking = slot.asking.lock().await;
        let last = slot.last().clone();
        if let Some((at, answer)) = &last
            && at.elapsed() < if answer.is_ok() { self.life } else { self.life.min(LIVE) }
            && answer.as_ref().map_or(true, suffices)
        {
            return answer.clone();
        }
        let answer = ask(last.and_then(|(_, answer)| answer.ok())).await;
        *slot.last() = Some((Instant::now(), answer.clone()));
        answer
    }

    /// Whether the last answer, however old, is one that can be gone on from. A failure is: asking again shows it.
    pub(crate) fn has(&self, key: &K, suffices: impl FnOnce(&V) -> bool) -> bool {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, slot)) = entries.get(key) else { return false };
        let last = slot.last();
        last.as_ref().is_some_and(|(_, answer)| answer.as_ref().map_or(true, suffices))
    }

    /// The answer must not be used any more: something has changed.
    pub(crate) fn forget(&self, key: &K) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// No answer must be used any more.
    pub(crate) fn clear(&self) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn slot(&self, key: &K) -> Arc<Slot<V>> {
        let now = Instant::now();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MAX_ENTRIES && !entries.contains_key(key) {
            let life = self.life;
            entries.retain(|_, (used, _)| now.duration_since(*used) < life);
            if entries.len() >= MAX_ENTRIES {
                entries.clear();
            }
        }
        let entry = entries.entry(key.clone()).or_insert_with(|| (now, Arc::default()));
        entry.0 = now;
        entry.1.clone()
    }
}

/// The caches of the console.
pub(crate) struct Caches {
    pub(crate) names: Cache<(), Arc<Vec<String>>>,
    pub(crate) counts: Cache<String, Arc<Counted>>,
    pub(crate) history: Cache<(String, HistoryKind), Arc<Past>>,
    pub(crate) workers: Cache<(), Arc<WorkersPage>>,
    /// What scripts of pages draw, as JSON, by what is on the page.
    pub(crate) drawn: Cache<String, Arc<str>>,
    pub(crate) doctor: Cache<(), Arc<Diagnosis>>,
    /// Since when the first item of a queue is overdue, by queue.
    pub(crate) dues: Cache<String, Option<SystemTime>>,
}

impl Default for Caches {
    fn default() -> Self {
        Caches {
            names: Cache::new(LIVE),
            counts: Cache::new(LIVE),
            workers: Cache::new(LIVE),
            drawn: Cache::new(LIVE),
            history: Cache::new(Duration::from_secs(30)),
            dues: Cache::new(Duration::from_secs(10)),
            doctor: Cache::new(Duration::from_secs(60)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn many_who_ask_at_once_cost_one_question() {
        let cache = Arc::new(Cache::<&str, u32>::new(Duration::from_secs(600)));
        let asked = Arc::new(AtomicU32::new(0));
        let ask = |asked: Arc<AtomicU32>| async move {
            tokio::task::yield_now().await;
            Ok(asked.fetch_add(1, Ordering::SeqCst))
        };
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..50 {
            let (cache, asked) = (cache.clone(), asked.clone());
            tasks.spawn(async move { cache.get(&"a", ask(asked)).await.unwrap() });
        }
        assert_eq!(tasks.join_all().await, vec![0; 50]);
        assert_eq!(cache.get(&"b", ask(asked.clone())).await.unwrap(), 1);
        cache.forget(&"a");
        assert_eq!(cache.get(&"a", ask(asked.clone())).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn who_leaves_while_it_is_renewed_loses_nothing() {
        let cache = Cache::<&str, u32>::new(Duration::ZERO);
        assert_eq!(cache.get(&"a", async { Ok(1) }).await.unwrap(), 1);
        let never = |old| async move {
            assert_eq!(old, Some(1));
            std::future::pending().await
        };
        let mut renewing = Box::pin(cache.renew(&"a", |_| true, never));
        assert!(tokio::time::timeout(Duration::ZERO, &mut renewing).await.is_err());
        assert!(cache.has(&"a", |_| true), "while another viewer renews it");
        drop(renewing);
        let next = cache.renew(&"a", |_| true, |old| async move { Ok(old.unwrap() + 1) });
        assert_eq!(next.await.unwrap(), 2);
    }

    #[tokio::test]
    async fn it_does_not_grow_without_end() {
        let cache = Cache::<usize, ()>::new(Duration::ZERO);
        for key in 0..10 * MAX_ENTRIES {
            cache.get(&key, async { Ok(()) }).await.unwrap();
        }
        assert!(cache.entries.lock().unwrap().len() <= MAX_ENTRIES);
    }
}
