//! Waiting without polling: one connection blocks on the token lists of all queues that are waited
//! on, and on nothing else, so that a lost answer loses a token and never an item. Workers wait on
//! `wake`, cleaners on `due`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::connection_manager::ConnectionManager;
use super::keys::Keys;
use super::listener::Listener;
use crate::name::QueueName;

/// What is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) enum News {
    /// Something may be ready.
    Ready,
    /// Something is due or expires earlier than a cleaner knows.
    Due,
}

impl News {
    /// How long one blocking command lasts. Cleaners listen to all queues, on a Cluster with a
    /// connection for each: less often, to stay quiet.
    fn block(self) -> Duration {
        match self {
            News::Ready => Duration::from_secs(5),
            News::Due => Duration::from_secs(30),
        }
    }

    fn key(self, keys: &Keys) -> Vec<u8> {
        match self {
            News::Ready => keys.wake().to_vec(),
            News::Due => keys.due().to_vec(),
        }
    }
}

/// All waiting of a client for one kind of news. On a Cluster every queue has a connection of its
/// own.
pub(super) struct Wake {
    kind: News,
    manager: Arc<ConnectionManager>,
    namespace: String,
    notifiers: Arc<Notifiers>,
}

/// By queue on a Cluster, else one for all. Whoever locks a notifier as well locks this first.
pub(super) type Notifiers = Mutex<HashMap<Option<QueueName>, Arc<Notifier>>>;

/// One connection and the queues it listens to.
#[derive(Default)]
pub(super) struct Notifier {
    pub(super) waiting: Mutex<HashMap<QueueName, Waiting>>,
    pub(super) changed: Notify,
}

pub(super) struct Waiting {
    count: usize,
    pub(super) key: Vec<u8>,
    pub(super) news: Arc<Notify>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens for as long as it lives.
struct Subscription<'a> {
    notifier: &'a Notifier,
    queue: &'a QueueName,
}

impl Drop for Subscription<'_> {
    fn drop(&mut self) {
        let mut waiting = lock(&self.notifier.waiting);
        if let Some(entry) = waiting.get_mut(self.queue) {
            entry.count -= 1;
            if entry.count == 0 {
                waiting.remove(self.queue);
            }
        }
    }
}

impl Wake {
    pub(super) fn new(kind: News, manager: Arc<ConnectionManager>, namespace: &str) -> Self {
        Wake { kind, manager, namespace: namespace.to_owned(), notifiers: Arc::default() }
    }

    /// Returns when a token for the queue came, or may have been lost with a connection.
    pub(super) async fn wait(&self, queue: &QueueName) {
        let (notifier, news) = self.enter(queue);
        let subscription = Subscription { notifier: &notifier, queue };
        news.notified().await;
        drop(subscription);
    }

    /// The client does not use the queue any more: on a Cluster, its connection closes.
    pub(super) fn forget(&self, queue: &QueueName) {
        if !self.manager.in_a_cluster() {
            return;
        }
        let name = Some(queue.clone());
        let mut notifiers = lock(&self.notifiers);
        if notifiers.get(&name).is_some_and(|notifier| lock(&notifier.waiting).is_empty())
            && let Some(notifier) = notifiers.remove(&name)
        {
            notifier.changed.notify_one();
        }
    }

    /// Counts one more who waits. Under the lock of the notifiers, so that none is given up meanwhile.
    fn enter(&self, queue: &QueueName) -> (Arc<Notifier>, Arc<Notify>) {
        let name = self.manager.in_a_cluster().then(|| queue.clone());
        let mut notifiers = lock(&self.notifiers);
        let notifier = notifiers.entry(name.clone()).or_insert_with(|| {
            let notifier = Arc::<Notifier>::default();
            let listener = Listener {
                block: self.kind.block(),
                manager: self.manager.clone(),
                notifiers: self.notifiers.clone(),
                name,
                notifier: notifier.clone(),
            };
            tokio::spawn(listener.run());
            notifier
        });
        let mut waiting = lock(&notifier.waiting);
        let entry = waiting.entry(queue.clone()).or_insert_with(|| Waiting {
            count: 0,
            key: self.kind.key(&Keys::new(&self.namespace, queue)),
            news: Arc::default(),
        });
        entry.count += 1;
        if entry.count == 1 {
            notifier.changed.notify_one();
        }
        (notifier.clone(), entry.news.clone())
    }
}
