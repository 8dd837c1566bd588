//! Holders of current and old leases, who end items in any order.

use std::collections::BTreeMap;

use leaseq::{FailOptions, Lease, WorkQueue};
use rand::Rng;
use rand::rngs::StdRng;

use crate::support::*;

#[derive(Default)]
pub(crate) struct Holders {
    held: Vec<Lease>,
    completions: BTreeMap<String, u32>,
}

impl Holders {
    pub(crate) async fn lease(&mut self, queue: &WorkQueue, rng: &mut StdRng) {
        self.held.extend(queue.lease_many(rng.random_range(1..5), at_once()).await.unwrap());
    }

    /// Completes some that are held, or were; they stay in the list.
    pub(crate) async fn complete(&mut self, queue: &WorkQueue, rng: &mut StdRng) {
        if self.held.is_empty() {
            return;
        }
        let at = rng.random_range(0..self.held.len());
        let some = self.held[at..].iter().take(3);
        complete(queue, some.collect(), &mut self.completions).await;
    }

    pub(crate) async fn fail(&self, queue: &WorkQueue, rng: &mut StdRng) {
        if self.held.is_empty() {
            return;
        }
        let lease = &self.held[rng.random_range(0..self.held.len())];
        let options = FailOptions::new().delay(secs(rng.random_range(0..3)));
        queue.fail_with(lease, "no", options).await.ok();
    }

    /// Lets what is leased expire, and completes all.
    pub(crate) async fn complete_all(&mut self, bench: &Bench, queue: &WorkQueue) {
        for _ in 0..30 {
            bench.advance(secs(11));
            queue.light_clean().await.unwrap();
            let leases = queue.lease_many(1_000, at_once()).await.unwrap();
            complete(queue, leases.iter().collect(), &mut self.completions).await;
        }
    }

    /// How often an item with this id was completed.
    pub(crate) fn completions(&self, id: &str) -> u32 {
        self.completions.get(id).copied().unwrap_or(0)
    }
}

async fn complete(queue: &WorkQueue, leases: Vec<&Lease>, completions: &mut BTreeMap<String, u32>) {
    let done = queue.complete_many(leases.clone()).await.unwrap();
    for (lease, done) in leases.iter().zip(done) {
        *completions.entry(lease.id_str().unwrap().to_owned()).or_default() += u32::from(done);
    }
}
