//! A master with a replica, and clients that wait for the replica.

use std::path::PathBuf;
use std::time::Duration;

use leaseq::Client;
use leaseq_test_support::{RedisServer, RedisServerBuilder, eventually_blocking};

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Pair {
    pub(crate) master: RedisServer,
    pub(crate) replica: RedisServer,
}

impl Pair {
    pub(crate) fn start() -> Self {
        Pair::start_with(RedisServer::builder())
    }

    /// Returns when the replica confirms writes.
    pub(crate) fn start_with(builder: RedisServerBuilder) -> Self {
        let builder = builder.arg("--repl-diskless-sync-delay", "0");
        let master = builder.clone().start();
        let of = format!("127.0.0.1 {}", master.port());
        let replica = builder.arg("--replicaof", of).start();
        let pair = Pair { master, replica };
        pair.wait_for_replica();
        pair
    }

    /// Waits until the replica confirms writes.
    pub(crate) fn wait_for_replica(&self) {
        let up = || self.master.is_replicated("mark");
        assert!(eventually_blocking(PATIENCE, up), "no replica:\n{}", self.replica.log());
    }

    /// A client that waits for the replica.
    pub(crate) async fn client(&self, timeout_ms: u64) -> Client {
        confirmed(&self.master.url(), timeout_ms).await
    }

    /// Whether a client waits for the replica now.
    pub(crate) fn is_waiting(&self) -> bool {
        let is_waiting = |line: &str| line.contains(" flags=b ") && line.contains(" cmd=wait ");
        self.master.cli(&["CLIENT", "LIST"]).lines().any(is_waiting)
    }

    /// Whether the replica has an item with this id, as it is stored.
    pub(crate) fn has(&self, queue: &str, id: &str) -> bool {
        self.replica.cli(&["HEXISTS", &format!("leaseq:{{{queue}}}:ids"), id]) == "1"
    }
}

/// A client that waits for one replica.
pub(crate) async fn confirmed(url: &str, timeout_ms: u64) -> Client {
    let url = format!("{url}?timeout_ms={timeout_ms}&replicas=1");
    Client::connect(&url).await.unwrap()
}

/// The servers of this machine: the one to test against, and Valkey (`LEASEQ_VALKEY_SERVER`) if it is another one.
/// WAIT has changed with Redis 7.2 and Valkey.
pub(crate) fn servers() -> Vec<RedisServerBuilder> {
    let valkey = std::env::var_os("LEASEQ_VALKEY_SERVER").map(PathBuf::from);
    let valkey = valkey.map(|binary| RedisServer::builder().binary(binary));
    [RedisServer::builder()].into_iter().chain(valkey).collect()
}

/// Those of them that know WAITAOF.
pub(crate) fn with_waitaof() -> Vec<RedisServerBuilder> {
    let knows = |server: RedisServer| server.try_command(&["WAITAOF", "0", "0", "1"]).is_ok();
    let servers: Vec<_> = servers().into_iter().filter(|one| knows(one.clone().start())).collect();
    if servers.is_empty() {
        println!("no server on this machine knows WAITAOF");
    }
    servers
}
