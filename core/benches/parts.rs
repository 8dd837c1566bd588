//! What the parts of a call cost without a network: an item, its id as stored, and whole calls on the
//! engine in memory, where nothing is left but the client's own work and SQLite's.
#![allow(clippy::unwrap_used, reason = "a benchmark may stop")]

use std::hint::black_box;
use std::time::Duration;

use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput};
use leaseq::{Client, Item, LeaseOptions, WorkQueue};
use tokio::runtime::Runtime;

// The engine's own file, which needs nothing else of it: no interface has to be made for this.
#[allow(dead_code, unused_imports, reason = "a part of it is measured")]
#[path = "../src/engine/redis/stored_id.rs"]
mod stored_id;

const DATA: [u8; 100] = [b'x'; 100];
const BATCH: usize = 100;

fn items(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("item");
    group.bench_function("with a random id", |bench| bench.iter(|| Item::new(black_box(DATA))));
    let data = Bytes::from_static(&DATA);
    group.bench_function("100 with random ids", |bench| {
        bench.iter(|| Item::new_many(std::iter::repeat_n(black_box(&data).clone(), BATCH)));
    });
    group.bench_function("with an id of its own", |bench| {
        bench.iter(|| Item::new(black_box(DATA)).with_id(black_box("order-17")));
    });
    group.finish();

    let mut group = criterion.benchmark_group("id on Redis");
    let uuid = b"67e55044-10b1-426f-9247-bb680e5fe0c8";
    group.bench_function("written, a UUID", |bench| {
        bench.iter(|| stored_id::store_id(black_box(uuid)).len());
    });
    let stored = stored_id::store_id(uuid).to_vec();
    group.bench_function("read, a UUID", |bench| {
        bench.iter(|| stored_id::restore_id(black_box(&stored)));
    });
    group.finish();
}

fn calls(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(Client::connect("memory:")).unwrap();
    let queue = client.queue("parts").unwrap();
    let mut group = criterion.benchmark_group("memory:");
    group.bench_function("nothing to lease", |bench| {
        bench.iter(|| runtime.block_on(queue.lease(at_once())).unwrap());
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("add, lease and complete one", |bench| {
        bench.iter(|| runtime.block_on(one(&queue)));
    });
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function("add, lease and complete a batch of 100", |bench| {
        bench.iter_batched(
            batch,
            |items| runtime.block_on(many(&queue, items)),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("add, lease and complete one, by 100 tasks at once", |bench| {
        bench.iter(|| at_the_same_time(&runtime, &queue));
    });
    group.finish();
    runtime.block_on(client.close());
}

fn at_once() -> LeaseOptions {
    LeaseOptions::new(Duration::from_secs(60)).wait(Duration::ZERO)
}

fn batch() -> Vec<Item> {
    (0..BATCH).map(|_| Item::new(DATA)).collect()
}

async fn one(queue: &WorkQueue) {
    assert!(queue.add_item(Item::new(DATA)).await.unwrap());
    let lease = queue.lease(at_once()).await.unwrap().unwrap();
    assert!(queue.complete(&lease).await.unwrap());
}

async fn many(queue: &WorkQueue, items: Vec<Item>) {
    queue.add_items(items).await.unwrap();
    let leases = queue.lease_many(BATCH, at_once()).await.unwrap();
    assert_eq!(queue.complete_many(&leases).await.unwrap(), [true; BATCH]);
}

fn at_the_same_time(runtime: &Runtime, queue: &WorkQueue) {
    runtime.block_on(async {
        let tasks = (0..BATCH).map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { one(&queue).await })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    items(&mut criterion);
    calls(&mut criterion);
    criterion.final_summary();
}
