//! A deep clean of many items under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leaseq::{Client, DeepClean, LeaseOptions};
use leaseq_test_support::RedisServer;

use crate::support::{item, secs};

const WINDOW: Duration = Duration::from_secs(2);

/// Workers that lease, add and complete as fast as they can.
async fn work(client: Client, done: Arc<AtomicU64>, stop: Arc<AtomicBool>, worker: usize) {
    let queue = client.queue("q").unwrap();
    let options = LeaseOptions::new(secs(60)).wait(Duration::ZERO);
    let mut round = 0;
    while !stop.load(Ordering::Relaxed) {
        let leases = queue.lease_many(20, options.clone()).await.unwrap();
        round += 1;
        let new = (0..leases.len()).map(|i| item(&format!("{worker}/{round}/{i}")));
        queue.add_items(new).await.unwrap();
        let count = leases.len() as u64;
        queue.complete_many(&leases).await.unwrap();
        done.fetch_add(count, Ordering::Relaxed);
    }
}

/// Scripts that took over 5 ms, by their first argument, and the rate with and without a deep
/// clean.
async fn measure(items: usize) -> (f64, Vec<u64>) {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("q").unwrap();
    for from in (0..items).step_by(10_000) {
        let ids = from..(from + 10_000).min(items);
        queue.add_items(ids.map(|i| item(&format!("{i}")))).await.unwrap();
    }
    let (done, stop) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
    let workers: Vec<_> =
        (0..8).map(|i| tokio::spawn(work(client.clone(), done.clone(), stop.clone(), i))).collect();
    let rate = async |window: Duration| {
        let (begun, before) = (Instant::now(), done.load(Ordering::Relaxed));
        tokio::time::sleep(window).await;
        (done.load(Ordering::Relaxed) - before) as f64 / begun.elapsed().as_secs_f64()
    };
    rate(WINDOW).await;
    let mut alone = rate(WINDOW).await;
    server.cli(&["CONFIG", "SET", "slowlog-log-slower-than", "5000"]);
    server.cli(&["SLOWLOG", "RESET"]);
    let other = Client::connect(&server.url()).await.unwrap();
    let cleaning = tokio::spawn(async move {
        let queue = other.queue("q").unwrap();
        let DeepClean::Done(report) = queue.deep_clean_if_due(secs(1)).await.unwrap() else {
            panic!("it is due");
        };
        report
    });
    let (begun, before) = (Instant::now(), done.load(Ordering::Relaxed));
    let report = cleaning.await.unwrap();
    let took = begun.elapsed();
    let beside = (done.load(Ordering::Relaxed) - before) as f64 / took.as_secs_f64();
    let slow: Vec<(u64, u64, u64, Vec<redis::Value>, String, String)> =
        redis::cmd("SLOWLOG").arg("GET").arg(-1).query(&mut server.connection()).unwrap();
    alone = (alone + rate(WINDOW).await) / 2.0;
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.unwrap();
    }
    assert!(report.is_sound(), "{report:?}");
    assert!(report.items as usize > items / 2, "{report:?}");
    println!(
        "{} items in {took:.1?}: {alone:.0} a second without, {beside:.0} with a deep clean; slow: {}",
        report.items,
        slow.len(),
    );
    (beside / alone, slow.into_iter().map(|entry| entry.2).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deep_clean_leaves_the_workers_most_of_the_server() {
    // Other load on the machine may slow down one half.
    let mut shares = Vec::new();
    for _ in 0..3 {
        let (share, _) = measure(15_000).await;
        shares.push(share);
        if share > 0.7 {
            return;
        }
    }
    panic!("shares of the rate alone: {shares:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; figures of a quiet machine"]
async fn a_million_items_are_cleaned_beside_the_workers() {
    let (share, slow) = measure(1_000_000).await;
    assert!(share >= 0.8, "{share} of the rate alone");
    assert!(slow.is_empty(), "scripts over 5 ms: {slow:?} us");
}
