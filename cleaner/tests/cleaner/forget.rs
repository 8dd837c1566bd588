//! Queues that come and go: a queue that is gone leaves nothing behind, and is cleaned when it
//! returns.

use leaseq::Client;
use leaseq_test_support::{RedisServer, eventually_blocking};

use crate::support::{Cleaner, Place, SOON, is_reclaimed, item, secs};

/// Metric series of a queue.
fn series(cleaner: &Cleaner, name: &str) -> usize {
    let (_, metrics) = cleaner.get("/metrics");
    metrics.lines().filter(|line| line.contains(&format!("queue=\"{name}\""))).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_gone_leaves_nothing_and_may_come_back() {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("stays").unwrap();
    queue.add_item(item("a")).await.unwrap();
    let cleaner = Cleaner::start(&server.url(), &[]);
    for _ in 0..3 {
        let other = Client::connect(&server.url()).await.unwrap();
        let goes = other.queue("goes").unwrap();
        goes.add_item(item("a")).await.unwrap();
        // Damage and a failure have their own series and lines.
        server.cli(&["HSET", "leaseq:{goes}:ids", "nothing", "999"]);
        cleaner.wait_for_queues(&["goes", "stays"]);
        assert!(eventually_blocking(SOON, || cleaner.get("/metrics").1.contains("damage=")));
        assert!(is_reclaimed(&goes).await, "it is not served again: {:#?}", cleaner.logs());
        server.cli(&["SET", "leaseq:{goes}:delayed", "x"]);
        let failing = || cleaner.json("/queues.json")["failing"]["goes"].is_string();
        assert!(eventually_blocking(secs(60), failing), "{:#?}", cleaner.logs());
        assert!(goes.drop_queue().await.unwrap());
        other.close().await;
        assert!(eventually_blocking(SOON, || series(&cleaner, "goes") == 0));
        let told = cleaner.json("/queues.json");
        assert!(told["failing"].is_null() && told["queues"]["goes"].is_null(), "{told}");
        assert!(is_reclaimed(&queue).await);
        // Keys that a late clean wrote expire.
        let keys = server.cli(&["KEYS", "leaseq:{goes}:*"]);
        for key in keys.lines() {
            let left = server.cli(&["PTTL", key]);
            assert_ne!(left, "-1", "{key} stays for ever");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_dropped_is_served_when_it_comes_back() {
    for place in Place::both() {
        let client = place.client().await;
        let queue = client.queue("q").unwrap();
        let cleaner = Cleaner::start(&place.url(), &[]);
        for _ in 0..3 {
            queue.add_item(item("a")).await.unwrap();
            assert!(is_reclaimed(&queue).await, "{}: {:#?}", place.url(), cleaner.logs());
            cleaner.wait_for_queues(&["q"]);
            assert!(queue.drop_queue().await.unwrap());
            assert!(eventually_blocking(SOON, || series(&cleaner, "q") == 0), "{}", place.url());
        }
        client.close().await;
    }
}

/// More names than one round takes up.
#[tokio::test(flavor = "multi_thread")]
async fn many_queues_are_taken_up_bit_by_bit_and_forgotten() {
    come_and_go(2, 501).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes more than a minute"]
async fn thousands_of_queues_that_come_and_go_take_no_memory() {
    let memory = come_and_go(8, 2_000).await;
    // A client keeps a few thousand queues for a while; keeping all would take 28 MiB after four
    // rounds.
    assert!(memory[7] < memory[3] + (16 << 10), "KiB after each round: {memory:?}");
}

/// Memory in KiB after each round, which adds and removes this number of names.
async fn come_and_go(rounds: usize, many: usize) -> Vec<u64> {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("q0").unwrap();
    queue.add_item(item("a")).await.unwrap();
    let cleaner = Cleaner::start(&server.url(), &[]);
    let mut memory = Vec::new();
    for round in 0..rounds {
        add_queues(&server, round, many);
        let served = || cleaner.get("/metrics").1.matches("leaseq_queue_up{").count();
        assert!(eventually_blocking(secs(60), || served() == many + 1), "{}", served());
        assert!(is_reclaimed(&queue).await, "{:#?}", cleaner.logs());
        // One connection for requests and one for waiting, as for one queue.
        let clients = server.cli(&["CLIENT", "LIST"]);
        assert!(clients.lines().count() < 10, "{clients}");
        remove_queues(&server, round, many);
        assert!(eventually_blocking(secs(60), || served() == 1), "{}", served());
        memory.push(resident(&cleaner));
    }
    assert!(is_reclaimed(&queue).await);
    memory
}

/// Memory of the process, in KiB.
fn resident(cleaner: &Cleaner) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", cleaner.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Many new empty queues.
fn add_queues(server: &RedisServer, round: usize, count: usize) {
    for_each_queue(
        server,
        round,
        count,
        "redis.call('HSET', 'leaseq:{' .. name .. '}:meta', 'format', '2', 'incarnation', '1')
         redis.call('HSET', 'leaseq:queues', name, '1')",
    );
}

/// First the queues vanish, then their names.
fn remove_queues(server: &RedisServer, round: usize, count: usize) {
    for remove in [
        "redis.call('DEL', 'leaseq:{' .. name .. '}:meta')",
        "redis.call('HDEL', 'leaseq:queues', name)",
    ] {
        for_each_queue(server, round, count, remove);
    }
}

fn for_each_queue(server: &RedisServer, round: usize, count: usize, script: &str) {
    let script = format!(
        "for i = 1, {count} do
           local name = 'round{round}-' .. i
           {script}
         end"
    );
    server.cli(&["EVAL", &script, "0"]);
}
