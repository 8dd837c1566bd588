//! The only place where a key is spelled.

use std::sync::atomic::{AtomicBool, Ordering};

use redis::Cmd;

use super::denied::Denied;
use crate::name::QueueName;

/// Keys of one queue in the order of `scripts/parts/keys.lua`: a script gets only as many of them as it uses.
/// They share a hash tag, so that a Cluster keeps them on one node.
#[derive(Debug)]
pub(super) struct Keys {
    names: [Vec<u8>; WITH_GROUPS],
    /// Never exists. While the slot moves, a Cluster refuses a script with this key before it begins.
    /// Without it, a script that empties a key and uses it again would be stopped half-way.
    absent: Vec<u8>,
    /// The scripts that the user may not run on them.
    pub(super) denied: Denied,
    /// The queue uses more than plain ones do.
    extended: AtomicBool,
}

/// How many keys a script uses, named for the last of them.
pub(super) const UP_TO_META: usize = 2;
pub(super) const UP_TO_DETAILS: usize = 6;
pub(super) const UP_TO_WAKE: usize = 7;
pub(super) const UP_TO_DEAD: usize = 9;
pub(super) const UP_TO_READY: usize = 11;
/// All keys of a plain queue.
pub(super) const PLAIN: usize = 20;
/// All keys, also those that only extended queues have.
pub(super) const ALL: usize = 45;
/// The groups too, which only few scripts look at.
pub(super) const WITH_GROUPS: usize = ALL + 1;

const NAMES: [&str; 11] = [
    "lanes", "meta", "items", "ids", "leased", "details", "wake", "delayed", "dead", "due", "ready",
];
const MORE_NAMES: [&str; WITH_GROUPS - PLAIN] = [
    "completed",
    "cancelled",
    "ended",
    "results",
    "uniques",
    "timers",
    "expiries",
    "marks",
    "awaited",
    "endings",
    "held",
    "places",
    "lines",
    "open",
    "key_limits",
    "schedules",
    "ticks",
    "follow_ups",
    "deferred",
    "history",
    "outbox",
    "outgoing",
    "forward_lanes",
    "events",
    "meters",
    "groups",
];

/// How many keys the registry of workers has.
pub(super) const OF_WORKERS: usize = 5;

/// The keys of the registry of workers, in the order of `scripts/parts/workers.lua`. One hash tag serves all workers
/// of the namespace, so that the beat of a worker is one command, whatever queues it serves.
const WORKER_NAMES: [&str; OF_WORKERS] = ["names", "beats", "bodies", "commands", "quiet"];

impl Keys {
    pub(super) fn new(namespace: &str, queue: &QueueName) -> Self {
        let is_registry = *queue == QueueName::registry();
        let name = |i: usize| {
            let name = match WORKER_NAMES.get(i) {
                Some(name) if is_registry => (*name).to_owned(),
                _ => Keys::short_name(i),
            };
            format!("{namespace}:{{{queue}}}:{name}").into_bytes()
        };
        let absent = format!("{namespace}:{{{queue}}}:absent").into_bytes();
        Keys {
            names: std::array::from_fn(name),
            absent,
            denied: Denied::default(),
            extended: AtomicBool::new(false),
        }
    }

    /// Whether the queue is known to use more than plain ones do.
    pub(super) fn are_extended(&self) -> bool {
        self.extended.load(Ordering::Relaxed)
    }

    pub(super) fn set_extended(&self) {
        self.extended.store(true, Ordering::Relaxed);
    }

    /// Adds the number of keys and the first `count` keys.
    pub(super) fn declare(&self, command: &mut Cmd, count: usize, in_a_cluster: bool) {
        command.arg(count + usize::from(in_a_cluster)).arg(&self.names[..count]);
        if in_a_cluster {
            command.arg(&self.absent);
        }
    }

    pub(super) fn lanes(&self) -> &[u8] {
        &self.names[0]
    }

    pub(super) fn meta(&self) -> &[u8] {
        &self.names[1]
    }

    pub(super) fn items(&self) -> &[u8] {
        &self.names[2]
    }

    pub(super) fn wake(&self) -> &[u8] {
        &self.names[6]
    }

    pub(super) fn due(&self) -> &[u8] {
        &self.names[9]
    }

    pub(super) fn endings(&self) -> &[u8] {
        &self.names[29]
    }

    /// The part after the hash tag, for people.
    pub(super) fn short_name(index: usize) -> String {
        match (NAMES.get(index), index.checked_sub(PLAIN)) {
            (Some(name), _) => (*name).to_owned(),
            (None, Some(more)) => MORE_NAMES[more].to_owned(),
            // Priority 0 has no suffix, so that an autoscaler can read its length.
            (None, None) => format!("ready:{}", index - 10),
        }
    }
}

/// The hash of known queue names, each with its incarnation.
pub(super) fn queues(namespace: &str) -> Vec<u8> {
    format!("{namespace}:queues").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_queue_share_a_hash_tag() {
        let keys = Keys::new("leaseq", &QueueName::new("emails").unwrap());
        assert_eq!(keys.names[10], b"leaseq:{emails}:ready");
        assert_eq!(keys.names[19], b"leaseq:{emails}:ready:9");
        assert!(keys.names.iter().all(|key| key.starts_with(b"leaseq:{emails}:")));
        assert_eq!(keys.absent, b"leaseq:{emails}:absent");
    }
}
