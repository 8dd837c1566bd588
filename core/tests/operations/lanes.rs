//! The server stores the last answer of each lane as long as a retry may need it, but not for ever.

use std::time::Duration;

use leaseq::{Client, ConnectOptions, Item, WorkQueue};
use leaseq_test_support::{Proxy, Then};
use redis::{Commands, Connection};

use crate::support::bench::Backend;
use crate::support::redis::{Redis, patch_clock};
use crate::support::{Bench, at_once};

const HOUR: Duration = Duration::from_millis(3_600_001);

async fn deep_clean(queue: &WorkQueue) -> u64 {
    let report = queue.deep_clean().await.unwrap();
    assert!(report.is_sound());
    report.idle_lanes
}

/// A clock that is set ahead makes every lane look idle, also the lane of a request whose answer is in
/// flight.
#[tokio::test]
async fn a_retry_gets_its_answer_after_the_clock_was_set_ahead() {
    for new_lanes in [false, true] {
        let redis = Redis::start();
        let proxy = Proxy::start(redis.server().port()).await;
        let mut options = redis.with_clock(ConnectOptions::default());
        options.timeout = Duration::from_secs(5);
        let bench = Bench::new(redis);
        let client = Client::connect_with(&proxy.url(), options).await.unwrap();
        let queue = client.queue("jobs").unwrap();
        let other = bench.queue().await;
        // Load the script.
        for id in ["warm-up", "a"] {
            queue.add_item(Item::new("data").with_id(id)).await.unwrap();
        }
        let [first, lease] = [queue.lease(at_once()).await, queue.lease(at_once()).await];
        let [first, lease] = [first, lease].map(|lease| lease.unwrap().unwrap());
        assert!(queue.complete(&first).await.unwrap());

        let (dropped, mut is_dropped) = tokio::sync::mpsc::unbounded_channel();
        proxy.drop_replies(
            move |args| is_complete(args) && dropped.send(()).is_ok(),
            1,
            Then::KeepOpen,
        );
        let completed = tokio::spawn(async move { queue.complete(&lease).await });
        is_dropped.recv().await.unwrap();
        // The answer may come a moment later.
        while other.counts().await.unwrap().totals.completed < 2 {}
        bench.advance(HOUR);
        if new_lanes {
            // Each new lane examines three lanes, and there are few.
            for _ in 0..20 {
                bench.queue().await.add_item(Item::new("data")).await.unwrap();
            }
        } else {
            assert!(deep_clean(&other).await > 0);
        }
        assert!(completed.await.unwrap().unwrap(), "new lanes: {new_lanes}");
        assert_eq!(other.counts().await.unwrap().totals.completed, 2);
    }
}

fn is_complete(args: &[Vec<u8>]) -> bool {
    let scripts = leaseq::testing::scripts();
    let (_, text) = scripts.iter().find(|(name, _)| *name == "complete").unwrap();
    let digest = redis::Script::new(&patch_clock(text)).get_hash().to_owned();
    args.get(1).is_some_and(|script| script == digest.as_bytes())
}

const LANES: &str = "leaseq:{jobs}:lanes";

/// Leaves lanes behind, as dead clients do.
fn leave(raw: &mut Connection, bench: &Bench, names: impl IntoIterator<Item = String>) {
    for name in names {
        let answer = format!("7 {} 11 22", bench.now());
        raw.hset::<_, _, _, ()>(LANES, name, answer).unwrap();
    }
}

#[tokio::test]
async fn lanes_of_clients_that_are_gone_are_dropped_by_a_clean() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let queue = bench.queue().await;
    let add = async || queue.add_item(Item::new("data")).await.unwrap();
    add().await;
    leave(&mut raw, &bench, ["dead".to_owned()]);
    raw.hset::<_, _, _, ()>(LANES, "damaged", "nonsense").unwrap();
    assert_eq!(deep_clean(&queue).await, 1);
    assert_eq!(raw.hlen(LANES), Ok(2));

    bench.advance(HOUR);
    let before = bench.backend().dump();
    assert_eq!(queue.check().await.unwrap().idle_lanes, 2);
    assert!(bench.backend().dump() == before);
    for _ in 0..2 {
        assert_eq!(deep_clean(&queue).await, 2);
        assert_eq!(raw.hlen(LANES), Ok(2), "it may be that the clock was set");
    }
    // This one is not idle.
    add().await;
    bench.advance(HOUR / 2);
    assert_eq!(deep_clean(&queue).await, 1);
    assert_eq!(raw.hlen(LANES), Ok(2));
    bench.advance(HOUR * 2 / 3);
    assert_eq!(deep_clean(&queue).await, 2);
    assert_eq!(raw.hexists(LANES, "dead"), Ok(false));
    assert_eq!(raw.hlen(LANES), Ok(1));
    add().await;
}

#[tokio::test]
async fn lanes_of_clients_that_are_gone_are_dropped_by_new_ones() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    bench.queue().await.add_item(Item::new("data")).await.unwrap();
    leave(&mut raw, &bench, (0..20).map(|i| format!("dead-{i}")));
    let mut new = Vec::new();
    let mut left = 20;
    while left > 0 {
        assert!(new.len() < 1_000, "{left} left");
        bench.advance(HOUR / 10);
        let queue = bench.queue().await;
        queue.add_item(Item::new("data")).await.unwrap();
        new.push(queue);
        let lanes: Vec<String> = raw.hkeys(LANES).unwrap();
        left = lanes.iter().filter(|lane| lane.starts_with("dead-")).count();
    }
    assert!(new.len() > 10, "not before the hour is over");
}
