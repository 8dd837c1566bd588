//! A small cluster whose slots can be moved by hand, step by step.

use std::time::Duration;

use crate::{RedisServer, RedisServerBuilder, eventually_blocking};

const SLOTS: u16 = 16_384;
/// A master waits for 2 s after its start before it reports the cluster as usable; the rest is for a busy
/// machine.
const AGREE: Duration = Duration::from_secs(60);

/// Three masters, a third of the slots each, without replicas or with one each.
#[derive(Debug)]
pub struct Cluster {
    /// First those that began as masters, then as many replicas, or none.
    nodes: Vec<RedisServer>,
}

impl Cluster {
    /// A cluster that answers for all slots. Takes about 2 s.
    pub fn start() -> Self {
        Self::start_with(RedisServer::builder())
    }

    /// A cluster whose nodes have these settings.
    pub fn start_with(builder: RedisServerBuilder) -> Self {
        let builder = Self::settings(builder);
        let nodes: Vec<_> = (0..3).map(|_| builder.clone().start()).collect();
        let share = SLOTS / 3 + 1;
        for (at, node) in (0..).zip(&nodes) {
            let (first, last) = (share * at, (share * (at + 1)).min(SLOTS) - 1);
            node.cli(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
            // Each node needs an epoch of its own before they meet; otherwise they conflict.
            node.cli(&["CLUSTER", "SET-CONFIG-EPOCH", &(at + 1).to_string()]);
        }
        for node in &nodes {
            for other in nodes.iter().filter(|other| other.port() != node.port()) {
                node.cli(&["CLUSTER", "MEET", "127.0.0.1", &other.port().to_string()]);
            }
        }
        let cluster = Self { nodes };
        let agreed = eventually_blocking(AGREE, || {
            cluster.nodes.iter().all(|node| {
                let info = node.cli(&["CLUSTER", "INFO"]);
                info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
            })
        });
        assert!(agreed, "the cluster did not form:\n{}", cluster.nodes[0].log());
        cluster
    }

    /// The same with a replica for each master.
    pub fn start_with_replicas(builder: RedisServerBuilder) -> Self {
        let builder = builder.arg("--repl-diskless-sync-delay", "0");
        let mut cluster = Self::start_with(builder.clone());
        let masters = cluster.nodes.len();
        for at in 0..masters {
            let replica = Self::settings(builder.clone()).start();
            let master = &cluster.nodes[at];
            replica.cli(&["CLUSTER", "MEET", "127.0.0.1", &master.port().to_string()]);
            let id = master.cli(&["CLUSTER", "MYID"]);
            // Refused until the node knows its master.
            let obeyed = || replica.try_command(&["CLUSTER", "REPLICATE", &id]).is_ok();
            assert!(eventually_blocking(AGREE, obeyed), "no replica:\n{}", replica.log());
            cluster.nodes.push(replica);
        }
        for node in &cluster.nodes[masters..] {
            cluster.wait_for_replica(node.port());
        }
        // A master ignores a replica that it does not know.
        let is_replica = |line: &&str| line.split(' ').nth(2).is_some_and(|s| s.contains("slave"));
        let knows =
            |node: &RedisServer| node.cli(&["CLUSTER", "NODES"]).lines().filter(is_replica).count();
        let agreed = || cluster.nodes.iter().all(|node| knows(node) == masters);
        assert!(eventually_blocking(AGREE, agreed), "the nodes did not meet");
        cluster
    }

    /// Lets the replica of a slot's master take over. Nothing is lost, because the master waits for it.
    /// Returns the new master's port when all nodes know it and the old master is its replica.
    ///
    /// Do not elect the same node by hand again within 8 s (four node time-outs): Redis 7.0 counts the old
    /// votes, and loses what the node accepts until the error is corrected.
    pub fn fail_over(&self, slot: u16) -> u16 {
        let old = self.slot_owner(slot);
        let id = self.node(old).cli(&["CLUSTER", "MYID"]);
        let is_its_replica = |node: &&RedisServer| {
            let line = node.cli(&["CLUSTER", "NODES"]);
            line.lines().any(|line| line.contains("myself,slave") && line.contains(&id))
        };
        let replica = self.nodes.iter().find(is_its_replica).expect("the master has a replica");
        // A master does not answer a replica that it does not know yet.
        let begun = || self.owner_seen_by(replica, slot) == Some(replica.port());
        let asked = || replica.try_command(&["CLUSTER", "FAILOVER"]).is_ok();
        let done = (0..10).any(|_| asked() && eventually_blocking(AGREE / 10, begun));
        assert!(done, "no failover:\n{}", replica.log());
        let new = self.wait_for_owner_other_than(slot, old);
        self.wait_for_replica(old);
        new
    }

    /// Waits until all running nodes are up and name another owner of a slot; returns its port.
    pub fn wait_for_owner_other_than(&self, slot: u16, old: u16) -> u16 {
        let mut new = old;
        let changed = eventually_blocking(AGREE, || {
            let running = self.nodes.iter().filter(|node| node.try_command(&["PING"]).is_ok());
            let mut owners = running.map(|node| {
                let is_up = node.says(&["CLUSTER", "INFO"], "cluster_state:ok");
                self.owner_seen_by(node, slot).filter(|_| is_up).unwrap_or(old)
            });
            new = owners.next().unwrap_or(old);
            new != old && owners.all(|owner| owner == new)
        });
        assert!(changed, "slot {slot} stays with port {old}");
        new
    }

    /// Waits until the node on this port is a replica in step with its master.
    pub fn wait_for_replica(&self, port: u16) {
        let up = || self.node(port).says(&["INFO", "replication"], "master_link_status:up");
        assert!(eventually_blocking(AGREE, up), "no replica:\n{}", self.node(port).log());
    }

    fn settings(builder: RedisServerBuilder) -> RedisServerBuilder {
        builder.arg("--cluster-enabled", "yes").arg("--cluster-node-timeout", "2000")
    }

    /// `redis+cluster://127.0.0.1:P1,127.0.0.1:P2,127.0.0.1:P3`.
    pub fn url(&self) -> String {
        let nodes: Vec<_> = self.nodes.iter().map(|node| node.addr().to_string()).collect();
        format!("redis+cluster://{}", nodes.join(","))
    }

    /// The nodes' ports.
    pub fn ports(&self) -> Vec<u16> {
        self.nodes.iter().map(RedisServer::port).collect()
    }

    /// The node on this port, to inspect it.
    pub fn node(&self, port: u16) -> &RedisServer {
        self.nodes.iter().find(|node| node.port() == port).expect("a node's port")
    }

    /// The node on this port, to kill or restart it.
    pub fn node_mut(&mut self, port: u16) -> &mut RedisServer {
        self.nodes.iter_mut().find(|node| node.port() == port).expect("a node's port")
    }

    /// The slot of a key.
    pub fn slot_of(&self, key: impl AsRef<[u8]>) -> u16 {
        let slot = self.nodes[0].cli(&[b"CLUSTER".as_slice(), b"KEYSLOT", key.as_ref()]);
        slot.parse().expect("a number")
    }

    /// The port of the node that serves a slot, as the first node sees it.
    pub fn slot_owner(&self, slot: u16) -> u16 {
        self.owner_seen_by(&self.nodes[0], slot).expect("every slot has an owner")
    }

    /// The port of any other node, as the destination of the slot.
    pub fn other_than(&self, port: u16) -> u16 {
        self.ports().into_iter().find(|other| *other != port).expect("there are three")
    }

    /// Marks a slot as migrating. From now on `from` redirects (ASK) requests for keys that it does not have.
    /// Operations on several keys of which only some have moved get TRYAGAIN.
    pub fn begin_migration(&self, slot: u16, from: u16, to: u16) {
        self.set_slot(to, slot, "IMPORTING", from);
        self.set_slot(from, slot, "MIGRATING", to);
    }

    /// The keys of a slot on a node.
    pub fn keys_in_slot(&self, slot: u16, port: u16) -> Vec<Vec<u8>> {
        let slot = slot.to_string();
        let keys = self.node(port).command(&["CLUSTER", "GETKEYSINSLOT", &slot, "1000000"]);
        redis::from_redis_value(keys).expect("a list of keys")
    }

    /// Moves one key.
    pub fn migrate_key(&self, key: impl AsRef<[u8]>, from: u16, to: u16) {
        let to = to.to_string();
        let address: [&[u8]; 3] = [b"MIGRATE", b"127.0.0.1", to.as_bytes()];
        let rest: [&[u8]; 3] = [key.as_ref(), b"0", b"5000"];
        self.node(from).cli(&[address, rest].concat());
    }

    /// Gives the slot to `to` and waits until every node knows.
    pub fn finish_migration(&self, slot: u16, from: u16, to: u16) {
        self.set_slot(to, slot, "NODE", to);
        self.set_slot(from, slot, "NODE", to);
        for port in self.ports().into_iter().filter(|port| ![from, to].contains(port)) {
            self.set_slot(port, slot, "NODE", to);
        }
        let agreed = eventually_blocking(AGREE, || {
            self.nodes.iter().all(|node| self.owner_seen_by(node, slot) == Some(to))
        });
        assert!(agreed, "the nodes disagree about slot {slot}");
    }

    /// Moves the slot with its keys to `to`.
    pub fn move_slot(&self, slot: u16, to: u16) {
        let from = self.slot_owner(slot);
        self.begin_migration(slot, from, to);
        loop {
            let keys = self.keys_in_slot(slot, from);
            if keys.is_empty() {
                break;
            }
            keys.iter().for_each(|key| self.migrate_key(key, from, to));
        }
        self.finish_migration(slot, from, to);
    }

    fn set_slot(&self, at: u16, slot: u16, what: &str, whom: u16) {
        let id = self.node(whom).cli(&["CLUSTER", "MYID"]);
        self.node(at).cli(&["CLUSTER", "SETSLOT", &slot.to_string(), what, &id]);
    }

    fn owner_seen_by(&self, node: &RedisServer, slot: u16) -> Option<u16> {
        // First slot, last slot, owner, replicas. A node is its address, port and, by version, more.
        let ranges: Vec<Vec<redis::Value>> =
            redis::from_redis_value(node.command(&["CLUSTER", "SLOTS"])).expect("a list of ranges");
        let number = |value: &redis::Value| redis::from_redis_value_ref::<u16>(value).ok();
        let holds = |range: &&Vec<redis::Value>| {
            number(&range[0]) <= Some(slot) && number(&range[1]) >= Some(slot)
        };
        match &ranges.iter().find(holds)?[2] {
            redis::Value::Array(owner) => number(&owner[1]),
            _ => None,
        }
    }
}
