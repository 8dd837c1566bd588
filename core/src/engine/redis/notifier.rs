//! Waiting without polling: one connection blocks on the token lists of all queues with waiting calls,
//! and on nothing else, so that a lost reply loses a token and never an item. Workers wait on `wake`,
//! cleaners on `due`. Another one reads the streams of queues whose items somebody waits for.

use std::sync::{Arc, Once};

use tokio::sync::Notify;

use super::channel::{Channel, Channels, Waiting};
use super::connection_manager::ConnectionManager;
use super::keys::Keys;
use super::listener::Listener;
use super::notification::Notification;
use crate::engine::{EndingPlace, Endings};
use crate::lock::lock;
use crate::name::QueueName;

/// All waiting of a client for one kind of notification. On a Cluster every queue has a connection of
/// its own.
pub(super) struct Notifier {
    kind: Notification,
    manager: Arc<ConnectionManager>,
    namespace: String,
    channels: Arc<Channels>,
}

/// One waiting call. The channel listens to the queue as long as it has one.
struct Subscription<'a> {
    channel: &'a Channel,
    queue: &'a QueueName,
}

impl Drop for Subscription<'_> {
    fn drop(&mut self) {
        let mut waiting = self.channel.waiting();
        if let Some(entry) = waiting.get_mut(self.queue) {
            entry.count -= 1;
            if entry.count == 0 {
                waiting.remove(self.queue);
            }
        }
    }
}

impl Notifier {
    pub(super) fn new(
        kind: Notification,
        manager: Arc<ConnectionManager>,
        namespace: &str,
    ) -> Self {
        Notifier { kind, manager, namespace: namespace.to_owned(), channels: Arc::default() }
    }

    /// Returns when a token for the queue came, or may have been lost with a connection.
    pub(super) async fn wait(&self, queue: &QueueName) {
        self.wait_behind(queue, EndingPlace::default()).await;
    }

    /// Returns what the stream of the queue has behind this place.
    pub(super) async fn wait_behind(&self, queue: &QueueName, after: EndingPlace) -> Endings {
        let (channel, notify) = self.subscribe(queue, after);
        let _subscription = Subscription { channel: &channel, queue };
        notify.notified().await;
        let mut waiting = channel.waiting();
        waiting.get_mut(queue).map(|entry| std::mem::take(&mut entry.endings)).unwrap_or_default()
    }

    /// The client does not use the queue any more: on a Cluster, its connection closes.
    pub(super) fn forget(&self, queue: &QueueName) {
        if !self.manager.in_a_cluster() {
            return;
        }
        let name = Some(queue.clone());
        let mut channels = lock(&self.channels);
        if channels.get(&name).is_some_and(|channel| channel.waiting().is_empty())
            && let Some(channel) = channels.remove(&name)
        {
            channel.changed.notify_one();
        }
    }

    /// Counts one more waiting call. Locks the channels, so that the listener does not end meanwhile.
    fn subscribe(&self, queue: &QueueName, after: EndingPlace) -> (Arc<Channel>, Arc<Notify>) {
        let name = self.manager.in_a_cluster().then(|| queue.clone());
        let mut channels = lock(&self.channels);
        let channel = channels.entry(name.clone()).or_insert_with(|| {
            let channel = Arc::<Channel>::default();
            let listener = Listener {
                kind: self.kind,
                manager: self.manager.clone(),
                channels: self.channels.clone(),
                name,
                channel: channel.clone(),
                warning: Once::new(),
            };
            tokio::spawn(listener.run());
            channel
        });
        let mut waiting = channel.waiting();
        let entry = waiting.entry(queue.clone()).or_insert_with(|| Waiting {
            count: 0,
            key: self.kind.key(&Keys::new(&self.namespace, queue)),
            notify: Arc::default(),
            after,
            endings: Endings::default(),
        });
        entry.count += 1;
        if entry.count == 1 {
            channel.changed.notify_one();
        }
        (channel.clone(), entry.notify.clone())
    }
}
