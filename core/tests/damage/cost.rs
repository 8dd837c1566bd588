//! What cleaning costs the server.

use std::collections::BTreeSet;
use std::time::Duration;

use ::redis::Connection;
use leaseq::{LeaseOptions, WorkQueue};
use leaseq_test_support::RedisServer;

use crate::support::redis::Redis;
use crate::support::*;

const MANY: usize = 100_000;

fn reset(server: &RedisServer) {
    server.cli(&["CONFIG", "RESETSTAT"]);
}

/// Microseconds that a script has taken on average since the reset.
fn script_cost(server: &RedisServer) -> f64 {
    let stats = server.cli(&["INFO", "commandstats"]);
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:"));
    let cost = line.and_then(|line| line.split(',').find_map(|p| p.strip_prefix("usec_per_call=")));
    cost.expect("scripts have run").parse().unwrap()
}

async fn add(queue: &WorkQueue, count: usize) {
    for from in (0..count).step_by(10_000) {
        let ids = from..count.min(from + 10_000);
        let items = ids.map(|i| item(format!("{i}")).priority(if i % 5 == 0 { 3 } else { 0 }));
        queue.add_items(items).await.unwrap();
    }
}

async fn lease_all(queue: &WorkQueue) {
    let options = LeaseOptions::new(secs(3600)).wait(Duration::ZERO);
    while !queue.lease_many(1000, options.clone()).await.unwrap().is_empty() {}
}

#[tokio::test]
async fn light_clean_costs_the_same_however_many_are_leased() {
    let redis = Redis::start();
    let server = redis.server().url();
    let client = leaseq::Client::connect(&server).await.unwrap();
    let (few, many) = (client.queue("few").unwrap(), client.queue("many").unwrap());
    add(&few, 10).await;
    add(&many, MANY).await;
    lease_all(&few).await;
    lease_all(&many).await;
    assert_eq!(many.processing().await.unwrap(), MANY as u64);
    let mut best = [f64::MAX; 2];
    for _ in 0..10 {
        for (queue, best) in [&few, &many].into_iter().zip(&mut best) {
            reset(redis.server());
            for _ in 0..50 {
                queue.light_clean().await.unwrap();
            }
            *best = best.min(script_cost(redis.server()));
        }
    }
    assert!(best[1] < 2.0 * best[0], "{best:?} us with 10 and with {MANY} leases");
}

type SlowEntry = (u64, u64, u64, Vec<String>, String, String);

/// The scripts that took more than 5 ms since the log was reset, each with its place among all of them: the log does
/// not show enough arguments to tell them apart.
fn slow_scripts(raw: &mut Connection) -> BTreeSet<(usize, String)> {
    let mut get = ::redis::cmd("SLOWLOG");
    let log: Vec<SlowEntry> = get.arg("GET").arg(-1).query(raw).unwrap();
    let scripts = log.into_iter().rev().filter(|entry| entry.3[0].starts_with("EVAL"));
    let placed = scripts.enumerate().filter(|(_, entry)| entry.2 > 5_000);
    placed.map(|(place, mut entry)| (place, entry.3.swap_remove(1))).collect()
}

#[tokio::test]
async fn a_deep_clean_never_blocks_the_server() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let client = leaseq::Client::connect(&redis.server().url()).await.unwrap();
    let queue = client.queue("many").unwrap();
    add(&queue, MANY).await;
    let options = LeaseOptions::new(secs(3600)).wait(Duration::ZERO);
    for _ in 0..20 {
        queue.lease_many(1000, options.clone()).await.unwrap();
    }
    redis.server().cli(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
    redis.server().cli(&["CONFIG", "SET", "slowlog-max-len", "100000"]);
    // A busy machine stops the server in the middle of any script, but not always of the same.
    let mut slow: Option<BTreeSet<(usize, String)>> = None;
    for _ in 0..6 {
        redis.server().cli(&["SLOWLOG", "RESET"]);
        let report = queue.deep_clean().await.unwrap();
        assert!(report.is_sound() && report.items == MANY as u64);
        let now = slow_scripts(&mut raw);
        let both = slow.map_or(now.clone(), |before| &before & &now);
        if both.is_empty() {
            return;
        }
        slow = Some(both);
    }
    panic!("always over 5 ms: {slow:?}");
}
