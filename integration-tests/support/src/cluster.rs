//! A small cluster whose slots can be moved by hand, step by step.

use std::time::Duration;

use crate::{RedisServer, RedisServerBuilder, eventually_blocking};

const SLOTS: u16 = 16_384;
/// A master waits 2 s after its start before it calls the cluster usable.
const AGREE: Duration = Duration::from_secs(20);

/// Three masters without replicas, a third of the slots each.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<RedisServer>,
}

impl Cluster {
    /// A cluster that answers for all slots. Takes about 2 s.
    pub fn start() -> Self {
        Self::start_with(RedisServer::builder())
    }

    /// A cluster whose nodes have settings of one's own.
    pub fn start_with(builder: RedisServerBuilder) -> Self {
        let builder = builder.arg("--cluster-enabled", "yes").arg("--cluster-node-timeout", "2000");
        let nodes: Vec<_> = (0..3).map(|_| builder.clone().start()).collect();
        let share = SLOTS / 3 + 1;
        for (at, node) in (0..).zip(&nodes) {
            let (first, last) = (share * at, (share * (at + 1)).min(SLOTS) - 1);
            node.cli(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
            // Without epochs of their own they would argue; later it is too late.
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

    /// `redis+cluster://127.0.0.1:P1,127.0.0.1:P2,127.0.0.1:P3`.
    pub fn url(&self) -> String {
        let nodes: Vec<_> = self.nodes.iter().map(|node| node.addr().to_string()).collect();
        format!("redis+cluster://{}", nodes.join(","))
    }

    /// The nodes' ports.
    pub fn ports(&self) -> Vec<u16> {
        self.nodes.iter().map(RedisServer::port).collect()
    }

    /// The node on this port, to look into it.
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

    /// Any port but the owner's: somewhere to move the slot.
    pub fn other_than(&self, port: u16) -> u16 {
        self.ports().into_iter().find(|other| *other != port).expect("there are three")
    }

    /// Marks a slot as moving. From now on `from` redirects (ASK) for keys it does not have,
    /// and operations on several keys of which only some have moved get TRYAGAIN.
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

    /// All of it: the slot with its keys, wherever it is, to `to`.
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
        // First slot, last slot, owner: address, port and, by version, more.
        type Range = (u16, u16, Vec<redis::Value>);
        let ranges: Vec<Range> =
            redis::from_redis_value(node.command(&["CLUSTER", "SLOTS"])).expect("a list of ranges");
        let (_, _, owner) = ranges.iter().find(|(from, to, _)| (*from..=*to).contains(&slot))?;
        redis::from_redis_value_ref(&owner[1]).ok()
    }
}
