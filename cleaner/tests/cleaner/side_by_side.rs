//! Many cleaners beside many workers: every promise holds, and no work is done twice.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leaseq::{Client, LeaseOptions};
use leaseq_test_support::{eventually, eventually_blocking};
use serde_json::Value;

use crate::support::{Cleaner, Place, SOON, item, ms};

const ITEMS: usize = 1_500;

#[derive(Default)]
struct Done {
    completed: Mutex<HashMap<Vec<u8>, u32>>,
    trues: AtomicUsize,
    leased: AtomicU64,
}

async fn work(client: Client, done: Arc<Done>, seed: u64) {
    let queue = client.queue("q").unwrap();
    let mut random = seed;
    while done.trues.load(Ordering::Relaxed) < ITEMS {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let duration = ms(2 + (random >> 33) % 6);
        let options = LeaseOptions::new(duration).wait(ms(20));
        let Some(lease) = queue.lease(options).await.unwrap() else { continue };
        done.leased.fetch_add(1, Ordering::Relaxed);
        // Some workers are as slow as their lease, and some never complete.
        tokio::time::sleep(ms((random >> 40) % 8)).await;
        if (random >> 50).is_multiple_of(5) {
            continue;
        }
        if queue.complete(&lease).await.unwrap() {
            *done.completed.lock().unwrap().entry(lease.id().to_vec()).or_default() += 1;
            done.trues.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The sum of a field over all logged light cleans.
fn logged(cleaners: &[Cleaner], field: &str) -> u64 {
    let lines = cleaners.iter().flat_map(Cleaner::logs);
    let lines = lines.filter(|line| line.contains("\"light clean\""));
    lines.map(|line| serde_json::from_str::<Value>(&line).unwrap()[field].as_u64().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_cleaners_beside_a_hundred_workers() {
    for place in Place::both() {
        let client = place.client().await;
        let queue = client.queue("q").unwrap();
        queue.add_items((0..ITEMS).map(|i| item(&format!("{i}")))).await.unwrap();
        let more = ["--light-interval", "20ms", "--deep-interval", "1s"];
        let mut cleaners: Vec<Cleaner> =
            (0..10).map(|_| Cleaner::start(&place.url(), &more)).collect();
        let done = Arc::<Done>::default();
        let mut clients = Vec::new();
        for _ in 0..4 {
            clients.push(place.client().await);
        }
        let workers: Vec<_> = (0..100)
            .map(|i| tokio::spawn(work(clients[i % 4].clone(), done.clone(), 7 + i as u64)))
            .collect();
        for worker in workers {
            tokio::time::timeout(Duration::from_secs(120), worker)
                .await
                .expect("all get done")
                .unwrap();
        }
        let drained = async || queue.counts().await.is_ok_and(|c| c.leased + c.ready == 0);
        assert!(eventually(SOON, drained).await);
        let counts = queue.counts().await.unwrap();
        let totals = &counts.totals;
        assert_eq!(totals.completed, ITEMS as u64);
        let completed = done.completed.lock().unwrap().clone();
        assert!(completed.len() == ITEMS && completed.values().all(|times| *times == 1));
        // Every lease that reached a worker ended by a completion, an expiry, or both in either
        // order. Other leases were released because their calls had timed out.
        let reached = done.leased.load(Ordering::Relaxed);
        assert!(reached <= totals.leased && totals.leased < reached + 100);
        assert!(totals.expired <= totals.leased && reached <= totals.expired + totals.completed);
        let by_cleaners = logged(&cleaners, "expired");
        println!(
            "{}: {} leases, {} expired, {by_cleaners} of them seen by cleaners",
            place.url(),
            totals.leased,
            totals.expired
        );
        assert!(by_cleaners <= totals.expired, "{by_cleaners} of {}", totals.expired);
        // All cleaners report the same.
        for cleaner in &cleaners {
            let same = || {
                let json = cleaner.json("/queues.json");
                let told = &json["queues"]["q"]["totals"];
                told["completed"] == totals.completed && told["expired"] == totals.expired
            };
            assert!(eventually_blocking(SOON, same));
        }
        assert!(queue.check().await.unwrap().is_sound());
        for cleaner in &mut cleaners {
            assert_eq!(cleaner.stop().code(), Some(0));
            assert!(
                !cleaner.logs().iter().any(|line| line.contains("\"ERROR\"")),
                "{:#?}",
                cleaner.logs()
            );
            assert!(
                !cleaner.logs().iter().any(|line| line.contains("\"deep clean\"")),
                "{:#?}",
                cleaner.logs()
            );
        }
        client.close().await;
    }
}

/// Number of deep cleans by all cleaners together.
pub(crate) fn deep_cleans(cleaners: &[Cleaner]) -> u64 {
    let count = |cleaner: &Cleaner| {
        let (_, text) = cleaner.get("/metrics");
        let line =
            text.lines().find_map(|line| line.strip_prefix("leaseq_deep_clean_seconds_count "));
        line.unwrap().parse::<u64>().unwrap()
    };
    cleaners.iter().map(count).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_cleaners_do_a_deep_clean_once() {
    for place in Place::both() {
        let client = place.client().await;
        for name in ["a", "b", "c"] {
            client.queue(name).unwrap().add_item(item("x")).await.unwrap();
        }
        let mut cleaners: Vec<Cleaner> =
            (0..6).map(|_| Cleaner::start(&place.url(), &[])).collect();
        cleaners.iter().for_each(|cleaner| cleaner.wait_for_queues(&["a", "b", "c"]));
        assert!(eventually_blocking(SOON, || deep_cleans(&cleaners) >= 3));
        // A cleaner that starts later knows about it, too.
        cleaners.push(Cleaner::start(&place.url(), &[]));
        cleaners[6].wait_for_queues(&["a", "b", "c"]);
        tokio::time::sleep(ms(1_500)).await;
        assert_eq!(deep_cleans(&cleaners), 3, "{}", place.url());
        client.close().await;
    }
}
