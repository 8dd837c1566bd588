//! Which queues do not accept entries of the outbox of others now, as far as this client knows.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::lock::lock;
use crate::name::QueueName;

/// How many queues a client passes by.
const MOST_BLOCKED: usize = 500;
/// How long a client waits with a queue that does not accept entries: twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// By the queue that has the outbox, then by the other queue.
#[derive(Default)]
pub(super) struct Outboxes(Mutex<HashMap<QueueName, HashMap<String, Blocked>>>);

struct Blocked {
    until: Instant,
    pause: Duration,
}

impl Outboxes {
    /// Whether to look at the outbox of this queue, which has entries. Not if this client has looked, and waits with what is
    /// there.
    pub(super) fn may_forward(&self, source: &QueueName) -> bool {
        self.next(source).is_zero()
    }

    /// When to look.
    pub(super) fn next(&self, source: &QueueName) -> Duration {
        let all = lock(&self.0);
        let first = all.get(source).and_then(|blocked| blocked.values().map(|one| one.until).min());
        first.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    pub(super) fn blocked(&self, source: &QueueName) -> Vec<String> {
        let now = Instant::now();
        let all = lock(&self.0);
        let blocked = all.get(source).into_iter().flatten().filter(|(_, one)| one.until > now);
        blocked.map(|(target, _)| target.clone()).collect()
    }

    /// Returns for how long.
    pub(super) fn block(&self, source: &QueueName, target: &str) -> Duration {
        let mut all = lock(&self.0);
        let blocked = all.entry(source.clone()).or_default();
        if blocked.len() >= MOST_BLOCKED {
            blocked.clear();
        }
        let now = Instant::now();
        let one = blocked
            .entry(target.to_owned())
            .or_insert(Blocked { until: now, pause: Duration::ZERO });
        one.pause = (2 * one.pause).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        one.until = now + one.pause;
        one.pause
    }

    pub(super) fn accept(&self, source: &QueueName, target: &str) {
        let mut all = lock(&self.0);
        if let Some(blocked) = all.get_mut(source) {
            blocked.remove(target);
            if blocked.is_empty() {
                all.remove(source);
            }
        }
    }

    /// Discards those with which this client waits no longer.
    pub(super) fn prune(&self, source: &QueueName) {
        let now = Instant::now();
        let mut all = lock(&self.0);
        if let Some(blocked) = all.get_mut(source) {
            blocked.retain(|_, one| one.until > now);
            if blocked.is_empty() {
                all.remove(source);
            }
        }
    }

    pub(super) fn forget(&self, source: &QueueName) {
        lock(&self.0).remove(source);
    }
}
