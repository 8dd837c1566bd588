//! Many callers at once on unique keys, cancellation and retention, and many items whose time ends at once.
//!
//! Random parts print their seed; `LEASEQ_SEED` runs it again. `LEASEQ_STRESS` makes the tests so many times as
//! long: `make nightly` sets it.

#![cfg(all(feature = "redis", feature = "sqlite", feature = "testing"))]
// A test may fail loudly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../support/mod.rs"]
mod support;

mod audit;
mod calls;
mod faults;
mod held;
mod keys;
mod many;
mod odd;
mod processes;
mod producers;
mod races;
mod rates;
mod told;

use std::sync::Arc;

use crate::support::Bench;

/// Makes a test of each of these bodies, `async fn body(bench: Arc<Bench>)`, on every engine and with threads.
macro_rules! on_threads {
    ($($body:ident),* $(,)?) => {
        mod on_redis {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $body() {
                super::$body(std::sync::Arc::new(crate::support::redis::bench())).await;
            })*
        }
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $body() {
                super::$body(std::sync::Arc::new(crate::support::sqlite::bench())).await;
            })*
        }
    };
}
use on_threads;

/// How many times as long as in `make test` the tests run.
fn times() -> usize {
    let given = std::env::var("LEASEQ_STRESS").ok();
    given.map_or(1, |times| times.parse().expect("LEASEQ_STRESS is a number"))
}

/// The seed of a random part, which is printed.
fn seed() -> u64 {
    let given = std::env::var("LEASEQ_SEED").ok();
    let given = given.map(|seed| seed.parse().expect("LEASEQ_SEED is a number"));
    let seed = given.unwrap_or_else(|| rand::random::<u64>() >> 16);
    println!("LEASEQ_SEED={seed}");
    seed
}

/// Queues of so many clients, on the clock of the bench.
async fn queues(bench: &Bench, clients: usize) -> Vec<leaseq::WorkQueue> {
    let mut queues = Vec::new();
    for _ in 0..clients {
        queues.push(bench.queue().await);
    }
    queues
}

/// A task that advances the clock until the returned handle is aborted.
fn run_clock(bench: &Arc<Bench>, seed: u64) -> tokio::task::JoinHandle<()> {
    use rand::{Rng, SeedableRng};
    let (bench, mut rng) = (bench.clone(), rand::rngs::StdRng::seed_from_u64(seed));
    tokio::spawn(async move {
        loop {
            let by = if rng.random_bool(0.02) { 3_000 } else { rng.random_range(0..20) };
            bench.advance(support::ms(by));
            tokio::time::sleep(support::ms(2)).await;
        }
    })
}

/// Sets its flag when it is dropped, so that threads end with a test that fails.
#[derive(Default)]
struct Over(Arc<std::sync::atomic::AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
