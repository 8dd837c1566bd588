//! What an operation costs does not grow with what is queued or leased.

use std::time::{Duration, Instant};

use leaseq::{Item, WorkQueue};

use crate::support::{Place, at_once, queue};

const FEW: usize = 1_000;
const MANY: usize = 200_000;
const BATCH: usize = 50;
const ROUNDS: usize = 41;

async fn fill(queue: &WorkQueue, items: usize) {
    for _ in 0..items / 1_000 {
        queue.add_items((0..1_000).map(|_| Item::new([b'x'; 100]))).await.unwrap();
    }
}

async fn hold(queue: &WorkQueue, mut items: usize) {
    while items > 0 {
        items -= queue.lease_many(items, at_once()).await.unwrap().len();
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

/// Medians of what leasing, completing, cleaning and counting take, one after the other on each.
async fn compare(few: &WorkQueue, many: &WorkQueue) -> Vec<(&'static str, f64)> {
    let mut times: [[Vec<Duration>; 2]; 4] = Default::default();
    for _ in 0..ROUNDS {
        for (n, queue) in [few, many].into_iter().enumerate() {
            let mut begun = Instant::now();
            let mut lap = |operation: usize| {
                times[operation][n].push(begun.elapsed());
                begun = Instant::now();
            };
            let leases = queue.lease_many(BATCH, at_once()).await.unwrap();
            lap(0);
            assert_eq!(queue.complete_many(&leases).await.unwrap(), vec![true; BATCH]);
            lap(1);
            queue.light_clean().await.unwrap();
            lap(2);
            queue.counts().await.unwrap();
            lap(3);
            queue.add_items((0..BATCH).map(|_| Item::new([b'x'; 100]))).await.unwrap();
        }
    }
    let names = ["lease", "complete", "light clean", "counts"];
    let ratio = |[few, many]: [Vec<Duration>; 2]| median(many) / median(few);
    names.into_iter().zip(times.map(ratio)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costs_do_not_grow_with_what_is_queued_or_leased() {
    let place = Place::new();
    let client = |name: &str| {
        let file = place.folder().join(name);
        async move { queue(&format!("{}?synchronous=normal", crate::support::url(&file))).await }
    };
    let (few, many) = (client("few.db").await, client("many.db").await);
    fill(&few, FEW).await;
    fill(&many, MANY).await;
    let queued = compare(&few, &many).await;
    hold(&few, FEW / 2).await;
    hold(&many, MANY - FEW / 2).await;
    let leased = compare(&few, &many).await;
    println!("queued: {queued:.2?}\nleased: {leased:.2?}");
    for (what, ratio) in queued.into_iter().chain(leased) {
        // The trees are deeper, and each random id is on another page, which a busy machine may have to
        // read from the disk; what grew with the number of items would cost 200 times as much.
        assert!(ratio <= 20.0, "{what} costs {ratio} times as much");
    }
}
