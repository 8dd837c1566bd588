//! A private server, a client, and what the server says about its work.

use leaseq::{Client, Item, LeaseOptions, WorkQueue};
use leaseq_test_support::RedisServer;
use std::time::Duration;

/// Size of the data of every item, in bytes.
pub(crate) const DATA: usize = 100;
/// Items in a batch.
pub(crate) const BATCH: usize = 100;
/// Microseconds of the server for a plain item, from add to completion in batches, on the machine for which the limits of target
/// 12 were set, when it was quiet. The time added is given at that speed, because that of one machine changes threefold.
pub(crate) const PLAIN: f64 = 3.6;
/// The commands that a program without scripts sends.
pub(crate) const RAW: [&str; 7] = ["hset", "lpush", "lmpop", "hmget", "zadd", "zrem", "hdel"];

pub(crate) struct Setup {
    pub(crate) server: RedisServer,
    pub(crate) client: Client,
}

impl Setup {
    pub(crate) async fn new() -> Self {
        let server = RedisServer::builder().arg("--loglevel", "warning").start();
        let client = Client::connect(&server.url()).await.unwrap();
        Setup { server, client }
    }

    pub(crate) fn queue(&self, name: &str) -> WorkQueue {
        self.client.queue(name).unwrap()
    }

    pub(crate) fn reset_stats(&self) {
        self.server.cli(&["CONFIG", "RESETSTAT"]);
    }

    /// Microseconds of server time spent in these commands since the last reset.
    pub(crate) fn usec(&self, commands: &[&str]) -> f64 {
        self.stat(commands, "usec=")
    }

    /// How often these commands were sent since the last reset.
    pub(crate) fn calls(&self, commands: &[&str]) -> f64 {
        self.stat(commands, "calls=")
    }

    fn stat(&self, commands: &[&str], field: &str) -> f64 {
        let info = self.server.cli(&["INFO", "commandstats"]);
        let of = |command: &&str| -> f64 {
            let name = format!("cmdstat_{command}:");
            let line = info.lines().find_map(|line| line.strip_prefix(&name));
            let value = line.and_then(|line| line.split(',').find_map(|f| f.strip_prefix(field)));
            value.map_or(0.0, |value| value.parse().unwrap())
        };
        commands.iter().map(of).sum()
    }

    /// Microseconds of CPU time that the server has used so far, for everything that it does.
    pub(crate) fn cpu(&self) -> f64 {
        let info = self.server.cli(&["INFO", "cpu"]);
        let of = |name: &str| -> f64 {
            info.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().parse().unwrap()
        };
        (of("used_cpu_user:") + of("used_cpu_sys:")) * 1e6
    }

    pub(crate) fn used_memory(&self) -> f64 {
        let info = self.server.cli(&["INFO", "memory"]);
        let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
        used.trim().parse().unwrap()
    }
}

pub(crate) fn batch() -> Vec<Item> {
    (0..BATCH).map(|_| Item::new([b'x'; DATA])).collect()
}

pub(crate) fn at_once() -> LeaseOptions {
    LeaseOptions::new(Duration::from_secs(60)).wait(Duration::ZERO)
}

pub(crate) async fn fill(queue: &WorkQueue, items: usize) {
    for _ in 0..items.div_ceil(BATCH * 10) {
        let items: Vec<Item> = (0..BATCH * 10).map(|_| Item::new([b'x'; DATA])).collect();
        queue.add_items(items).await.unwrap();
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The value that this share of the samples does not exceed.
pub(crate) fn percentile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    values[((last as f64) * share).ceil() as usize]
}
