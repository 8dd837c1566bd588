//! Pages of large queues. With `LEASEQ_STRESS`, in a release build, this measures: 10 million items on Redis, a million
//! in a file. Otherwise it only looks whether all pages work.

use std::time::{Duration, Instant};

use leaseq::{Item, LeaseOptions, Measured, SettingsChange, State, WorkQueue};

use crate::live::requests;
use crate::support::Engine;

/// The longest time of any page.
const LIMIT: Duration = Duration::from_millis(50);
/// Items that one task adds in a call.
const STEP: u64 = 1_000;
/// Items that are dead.
const DEAD: u64 = 5_000;

const PAGES: [&str; 19] = [
    "/",
    "/numbers",
    "/history",
    "/queues/large",
    "/queues/large/numbers",
    "/queues/large/history?span=day",
    "/queues/large?state=ready&order=reverse",
    "/queues/large?state=dead",
    "/queues/large?state=ready&id=item-0000001",
    "/queues/large?state=dead&error=nothing",
    "/queues/large?state=ready&data=nothing",
    "/queues/large/item?id=item-00000010",
    "/queues/large/leases",
    "/queues/large/dead",
    "/queues/large/wasted",
    "/queues/large/schedules",
    "/queues/large/settings",
    "/workers",
    "/health",
];

fn stress() -> bool {
    std::env::var_os("LEASEQ_STRESS").is_some() && !cfg!(debug_assertions)
}

async fn fill(queue: &WorkQueue, count: u64) {
    queue.configure(SettingsChange::new().events(10_000)).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..4 {
        let queue = queue.clone();
        tasks.spawn(async move {
            let mut first = task * STEP;
            while first < count {
                let item = |n: u64| {
                    let data =
                        format!("{{\"job\":\"mail.send\",\"to\":\"customer-{n}@example.com\"}}");
                    Item::new(data).with_id(format!("item-{n:08}"))
                };
                queue.add_items((first..count.min(first + STEP)).map(item)).await.unwrap();
                first += 4 * STEP;
            }
        });
    }
    tasks.join_all().await;
    let ids = |n: u64| format!("item-{n:08}");
    for first in (20..DEAD + 20).step_by(STEP as usize) {
        queue.bury((first..first + STEP).map(ids), "connect to 10.0.0.1: timed out").await.unwrap();
    }
    let lease = LeaseOptions::new(Duration::from_secs(3_600)).wait(Duration::ZERO);
    queue.lease_many(20, lease).await.unwrap();
    queue.record_history(&Measured::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_large_queues_are_quick() {
    let counts = if stress() { [10_000_000, 1_000_000] } else { [8_000, 8_000] };
    let mut slow = Vec::new();
    for (engine, count) in Engine::all().iter().zip(counts) {
        let queue = engine.queue("large").await;
        let began = Instant::now();
        fill(&queue, count).await;
        let name = if engine.server.is_some() { "redis" } else { "sqlite" };
        println!("{name}: {count} items in {:?}", began.elapsed());
        assert_eq!(queue.counts().await.unwrap().dead, DEAD);
        assert_eq!(queue.list(State::Leased, None, 100).await.unwrap().items.len(), 20);
        for path in PAGES {
            let mut times = Vec::new();
            for _ in 0..if stress() { 5 } else { 1 } {
                // One that is connected, and has seen nothing of the queue.
                let console = engine.console().await;
                assert_eq!(console.get("/numbers?find=nothing").await.status, 200);
                let began = Instant::now();
                let answer = console.get(path).await;
                times.push(began.elapsed());
                assert_eq!(answer.status, 200, "{path}: {answer:?}");
            }
            times.sort();
            println!(
                "{name}: {path}: median {:?}, longest {:?}",
                times[times.len() / 2],
                times[times.len() - 1]
            );
            if times[times.len() / 2] > LIMIT {
                slow.push(format!("{name} {path} {times:?}"));
            }
        }
        if let (Some(server), true) = (&engine.server, stress()) {
            // A console that somebody has looked at, and that nobody looks at now.
            let console = engine.console().await;
            assert_eq!(console.get("/").await.status, 200);
            let before = requests(server);
            tokio::time::sleep(Duration::from_secs(10)).await;
            let asked = requests(server) - before;
            println!("{name}: {asked} commands in 10 s while nobody looks");
            assert!(asked <= 10, "{asked} commands");
        }
    }
    assert!(!stress() || slow.is_empty(), "{slow:#?}");
}
