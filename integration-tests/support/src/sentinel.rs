//! A master with replicas, monitored by sentinels.

use std::time::Duration;

use crate::{RedisServer, RedisServerBuilder, eventually_blocking};

/// The name under which the sentinels know the master.
const NAME: &str = "master0";
const PATIENCE: Duration = Duration::from_secs(60);
/// How often sentinels ping and publish, in ms; the default is every 1 to 10 s. Much less is unsafe: after
/// four publish periods a sentinel turns a new master that it does not know into a replica again, and
/// noticing a promotion takes 1 s.
const PERIODS: [(&str, &str); 3] =
    [("info-period", "1000"), ("ask-period", "100"), ("publish-period", "1000")];

/// One master, its replicas and three sentinels, of which two must agree.
#[derive(Debug)]
pub struct Sentinel {
    nodes: Vec<RedisServer>,
    sentinels: Vec<RedisServer>,
}

impl Sentinel {
    /// One replica, default settings.
    pub fn start() -> Self {
        Self::start_with(1, RedisServer::builder())
    }

    /// Several replicas, and settings for master and replicas. Returns when the replicas are in step and the
    /// sentinels know each other.
    pub fn start_with(replicas: usize, builder: RedisServerBuilder) -> Self {
        // Send the first replica its copy without waiting for further replicas.
        let builder = builder.arg("--repl-diskless-sync-delay", "0");
        let mut nodes = vec![builder.clone().start()];
        let master = nodes[0].port().to_string();
        for _ in 0..replicas {
            let replica = builder.clone().arg("--replicaof", format!("127.0.0.1 {master}"));
            nodes.push(replica.start());
        }
        for replica in &nodes[1..] {
            let up = || replica.says(&["INFO", "replication"], "master_link_status:up");
            assert!(eventually_blocking(PATIENCE, up), "no replica:\n{}", replica.log());
        }
        let config = format!(
            "sentinel monitor {NAME} 127.0.0.1 {master} 2\n\
             sentinel down-after-milliseconds {NAME} 1000\n\
             sentinel failover-timeout {NAME} 4000\n"
        );
        let sentinel = RedisServer::builder().config(config).flag("--sentinel");
        let sentinels: Vec<_> = (0..3).map(|_| sentinel.clone().start()).collect();
        for sentinel in &sentinels {
            for (name, value) in PERIODS {
                sentinel.cli(&["SENTINEL", "DEBUG", name, value]);
            }
        }
        let set = Self { nodes, sentinels };
        let known = eventually_blocking(PATIENCE, || set.all_know_all());
        assert!(known, "the sentinels did not meet:\n{}", set.sentinels[0].log());
        set
    }

    /// `redis+sentinel://127.0.0.1:S1,127.0.0.1:S2,127.0.0.1:S3/master0`.
    pub fn url(&self) -> String {
        let sentinels: Vec<_> = self.sentinels.iter().map(|node| node.addr().to_string()).collect();
        format!("redis+sentinel://{}/{NAME}", sentinels.join(","))
    }

    /// The sentinels' ports.
    pub fn sentinel_ports(&self) -> Vec<u16> {
        self.sentinels.iter().map(RedisServer::port).collect()
    }

    /// The ports of all servers, masters and replicas alike.
    pub fn ports(&self) -> Vec<u16> {
        self.nodes.iter().map(RedisServer::port).collect()
    }

    /// The server on this port, to inspect it.
    pub fn node(&self, port: u16) -> &RedisServer {
        self.nodes.iter().find(|node| node.port() == port).expect("a server's port")
    }

    /// The server on this port, to pause, kill or restart it.
    pub fn node_mut(&mut self, port: u16) -> &mut RedisServer {
        self.nodes.iter_mut().find(|node| node.port() == port).expect("a server's port")
    }

    /// The port of the master, if all sentinels name the same.
    pub fn master(&self) -> Option<u16> {
        let named = |sentinel: &RedisServer| -> Option<u16> {
            let address = sentinel.cli(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]);
            address.lines().nth(1)?.parse().ok()
        };
        let first = named(&self.sentinels[0])?;
        self.sentinels.iter().all(|sentinel| named(sentinel) == Some(first)).then_some(first)
    }

    /// Makes a replica the master, and returns its port when all sentinels name it and it accepts writes. By
    /// then the old master is a replica, and its connections were closed. What it accepted in between is
    /// lost, as with any failover.
    pub fn failover(&self) -> u16 {
        let old = self.agreed_master();
        // Refused during an earlier failover, or if no replica has reported recently.
        let accepted = eventually_blocking(PATIENCE, || {
            self.sentinels[0].try_command(&["SENTINEL", "FAILOVER", NAME]).is_ok()
        });
        assert!(accepted, "no failover:\n{}", self.sentinels[0].log());
        let new = self.wait_for_master_other_than(old);
        // The sentinels would send this some seconds later.
        let mut demote = redis::pipe();
        demote.cmd("REPLICAOF").arg("127.0.0.1").arg(new);
        demote.cmd("CLIENT").arg("KILL").arg("TYPE").arg("normal");
        demote.query::<()>(&mut self.node(old).connection()).expect("the old master runs");
        new
    }

    /// Kills the master and returns its port. The sentinels notice after a second:
    /// see [`wait_for_master_other_than`](Self::wait_for_master_other_than).
    pub fn kill_master(&mut self) -> u16 {
        let old = self.agreed_master();
        self.node_mut(old).kill();
        old
    }

    /// Waits until all sentinels name another master and it accepts writes; returns its port.
    pub fn wait_for_master_other_than(&self, old: u16) -> u16 {
        let mut new = old;
        let changed = eventually_blocking(PATIENCE, || {
            new = self.master().unwrap_or(old);
            new != old && self.node(new).says(&["INFO", "replication"], "role:master")
        });
        assert!(changed, "no new master:\n{}", self.sentinels[0].log());
        new
    }

    /// Waits until the server on this port, a former master, is a replica in step with its master. Each
    /// sentinel may send it the command once more, which closes its connections.
    pub fn wait_for_replica(&self, port: u16) {
        let up = || self.node(port).says(&["INFO", "replication"], "master_link_status:up");
        assert!(eventually_blocking(PATIENCE, up), "no replica:\n{}", self.node(port).log());
    }

    fn agreed_master(&self) -> u16 {
        let mut master = None;
        let agreed = eventually_blocking(PATIENCE, || {
            master = self.master();
            master.is_some()
        });
        assert!(agreed, "the sentinels disagree");
        master.expect("just agreed")
    }

    fn all_know_all(&self) -> bool {
        let (replicas, sentinels) = (self.nodes.len() - 1, self.sentinels.len());
        let sound = format!("status=ok,address={},", self.nodes[0].addr());
        let known = format!("slaves={replicas},sentinels={sentinels}");
        self.sentinels.iter().all(|sentinel| {
            let info = sentinel.cli(&["INFO", "sentinel"]);
            info.contains(&sound) && info.contains(&known)
        })
    }
}
