//! A queue in every state, on a server whose calls are counted.

use std::collections::BTreeMap;
use std::time::Duration;

use ::redis::{Connection, cmd};
use leaseq::{Lease, LeaseOptions, WorkQueue};

use crate::support::*;

/// A server whose scripts are counted.
pub(crate) struct Stage {
    pub(crate) bench: Bench,
    pub(crate) raw: Connection,
    pub(crate) client: leaseq::Client,
}

impl Stage {
    pub(crate) fn queue(&self, name: &str) -> WorkQueue {
        self.client.queue(name).unwrap()
    }

    pub(crate) fn raw(&mut self, command: &str, queue: &str, key: &str, args: &[String]) {
        let key = format!("leaseq:{{{queue}}}:{key}");
        cmd(command).arg(key).arg(args).query::<::redis::Value>(&mut self.raw).unwrap();
    }

    pub(crate) fn numbers(&mut self, queue: &str) -> BTreeMap<String, String> {
        cmd("HGETALL").arg(format!("leaseq:{{{queue}}}:ids")).query(&mut self.raw).unwrap()
    }

    /// As if the server had lost the ids: each leads to the next item.
    pub(crate) fn mix_up_ids(&mut self, queue: &str) {
        let ids = self.numbers(queue);
        let others = ids.values().cycle().skip(1).cloned();
        let mixed: Vec<String> =
            ids.keys().cloned().zip(others).flat_map(|(id, other)| [id, other]).collect();
        self.raw("HSET", queue, "ids", &mixed);
    }

    pub(crate) fn spoil_details(&mut self, queue: &str) {
        let spoilt: Vec<String> =
            self.numbers(queue).into_values().flat_map(|n| [n, "garbage".into()]).collect();
        self.raw("HSET", queue, "details", &spoilt);
    }

    pub(crate) fn score_all(&mut self, queue: &str, key: &str, score: &str) {
        let scored: Vec<String> =
            self.numbers(queue).into_values().flat_map(|n| [score.into(), n]).collect();
        self.raw("ZADD", queue, key, &scored);
    }
}

/// Items of all priorities, with a limit of attempts, so that each has details.
pub(crate) async fn add(queue: &WorkQueue, prefix: &str, count: usize, delay: Duration) {
    let items = (0..count).map(|i| {
        item(format!("{prefix}{i}")).priority((i % 10) as u8).max_attempts(2).delay(delay)
    });
    queue.add_items(items).await.unwrap();
}

pub(crate) async fn lease(queue: &WorkQueue, count: usize, duration: Duration) -> Vec<Lease> {
    let mut leases = Vec::new();
    while leases.len() < count {
        let options = LeaseOptions::new(duration).wait(Duration::ZERO);
        let more = queue.lease_many(count - leases.len(), options).await.unwrap();
        assert!(!more.is_empty(), "{} of {count}", leases.len());
        leases.extend(more);
    }
    leases
}

/// 500 expired leases, and as many delayed items that are due.
pub(crate) async fn overdue(stage: &Stage, queue: &WorkQueue) {
    add(queue, "expired", 500, Duration::ZERO).await;
    lease(queue, 500, secs(1)).await;
    add(queue, "due", 500, secs(1)).await;
    stage.bench.advance(secs(1));
}

/// In each list tombstones, and items between them.
pub(crate) async fn tombstones(queue: &WorkQueue, of_each: usize) {
    add(queue, "t", 10 * of_each, Duration::ZERO).await;
    let gone: Vec<String> =
        (0..10 * of_each).filter(|i| i / 10 % 4 > 0).map(|i| format!("t{i}")).collect();
    queue.remove_many(gone).await.unwrap();
}

/// Leases of a first delivery whose items are ready, delayed, dead, and leased again by now.
pub(crate) async fn stale(stage: &Stage, queue: &WorkQueue) -> Vec<Lease> {
    add(queue, "s", 1000, Duration::ZERO).await;
    let stale = lease(queue, 1000, secs(1)).await;
    stage.bench.advance(secs(1));
    while queue.light_clean().await.unwrap().expired > 0 {}
    let again = lease(queue, 750, secs(600)).await;
    queue.release_many(&again[..250], secs(600)).await.unwrap();
    queue.fail_many(again[250..500].iter().map(|l| (l, "x")), secs(0)).await.unwrap();
    stale
}
