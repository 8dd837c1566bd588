//! The cost of an idle cleaner.

use std::time::Duration;

use leaseq::HistoryKind;
use leaseq_test_support::{RedisServer, cpu_time, eventually};

use crate::side_by_side::deep_cleans;
use crate::support::{Cleaner, Place, item, secs};

const WATCHED: Duration = Duration::from_secs(20);
const QUEUES: usize = 100;

/// Requests of clients, without the commands inside scripts.
fn requests(server: &RedisServer) -> u64 {
    let stats = server.cli(&["INFO", "commandstats"]);
    let calls = stats.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let ours = ["evalsha", "eval", "blpop", "rpush", "hscan", "client|unblock"].contains(&name);
        ours.then(|| rest.split(',').next()?.parse::<u64>().ok()).flatten()
    });
    calls.sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_idle_queues_cost_next_to_nothing() {
    for place in Place::both() {
        let client = place.client().await;
        let names: Vec<String> = (0..QUEUES).map(|i| format!("q{i}")).collect();
        for name in &names {
            client.queue(name).unwrap().add_item(item("a")).await.unwrap();
        }
        let cleaner = Cleaner::start(&place.url(), &[]);
        cleaner.wait_for_queues(&names.iter().map(String::as_str).collect::<Vec<_>>());
        // The first deep cleans and the first rows of the histories are work, but end soon.
        let cleaned = async || deep_cleans(std::slice::from_ref(&cleaner)) == QUEUES as u64;
        assert!(eventually(secs(240), cleaned).await);
        for name in &names {
            let queue = client.queue(name).unwrap();
            let written = async || !queue.history(HistoryKind::Minutes).await.unwrap().is_empty();
            assert!(eventually(secs(240), written).await);
        }
        client.close().await;
        let asked = |place: &Place| match place {
            Place::Redis(server) => requests(server),
            Place::File(_) => 0,
        };
        let (before, time) = (asked(&place), cpu_time(cleaner.child.id()));
        tokio::time::sleep(WATCHED).await;
        let used = cpu_time(cleaner.child.id()) - time;
        let share = used.as_secs_f64() / WATCHED.as_secs_f64();
        let sent = (asked(&place) - before) as f64 / WATCHED.as_secs_f64();
        println!("{}: {:.2} % of a core, {sent:.1} commands a second", place.url(), share * 100.0);
        assert!(share < if cfg!(debug_assertions) { 0.06 } else { 0.01 }, "{share} of a core");
        // On average; some may coincide.
        assert!(sent <= 12.0, "{sent} commands a second");
    }
}
