//! The keys of a queue. With `key_names.rs`, the only place where a key is spelled.

use std::sync::atomic::{AtomicBool, Ordering};

use redis::Cmd;

use super::denied::Denied;
use super::key_names::{READY, READY_LISTS, Used, WORKER_NAMES, short_name};
use crate::name::QueueName;

/// Keys of one queue. They share a hash tag, so that a Cluster keeps them on one node.
#[derive(Debug)]
pub(super) struct Keys {
    names: Vec<Vec<u8>>,
    /// Never exists. While the slot moves, a Cluster refuses a script with this key before it begins.
    /// Without it, a script that empties a key and uses it again would be stopped half-way.
    absent: Vec<u8>,
    /// The scripts that the user may not run on them.
    pub(super) denied: Denied,
    /// The queue uses more than plain ones do.
    extended: AtomicBool,
    /// It has had successors.
    successors: AtomicBool,
}

impl Keys {
    pub(super) fn new(namespace: &str, queue: &QueueName) -> Self {
        let is_registry = *queue == QueueName::registry();
        let name = |place: usize| {
            let short = match WORKER_NAMES.get(place) {
                Some(name) if is_registry => (*name).to_owned(),
                _ => short_name(place),
            };
            format!("{namespace}:{{{queue}}}:{short}").into_bytes()
        };
        let absent = format!("{namespace}:{{{queue}}}:absent").into_bytes();
        Keys {
            names: (0..READY + READY_LISTS).map(name).collect(),
            absent,
            denied: Denied::default(),
            extended: AtomicBool::new(false),
            successors: AtomicBool::new(false),
        }
    }

    /// Whether the queue is known to use more than plain ones do.
    pub(super) fn are_extended(&self) -> bool {
        self.extended.load(Ordering::Relaxed)
    }

    pub(super) fn set_extended(&self) {
        self.extended.store(true, Ordering::Relaxed);
    }

    /// Whether the queue is known to have had successors.
    pub(super) fn have_successors(&self) -> bool {
        self.successors.load(Ordering::Relaxed)
    }

    pub(super) fn set_have_successors(&self) {
        self.successors.store(true, Ordering::Relaxed);
    }

    /// Adds the number of keys, and the keys that the script uses; of its ready lists only so many.
    pub(super) fn declare(
        &self,
        command: &mut Cmd,
        used: &Used,
        ready_lists: usize,
        in_a_cluster: bool,
    ) {
        let ready_lists = used.ready_lists.min(ready_lists);
        command.arg(used.places.len() + ready_lists + usize::from(in_a_cluster));
        for place in &used.places {
            command.arg(&self.names[*place]);
        }
        command.arg(&self.names[READY..][..ready_lists]);
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
        &self.names[19]
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
        let named =
            [keys.lanes(), keys.meta(), keys.items(), keys.wake(), keys.due(), keys.endings()];
        let short = ["lanes", "meta", "items", "wake", "due", "endings"];
        assert_eq!(
            named.map(<[u8]>::to_vec),
            short.map(|name| format!("leaseq:{{emails}}:{name}").into_bytes())
        );
        assert_eq!(keys.names[READY], b"leaseq:{emails}:ready");
        assert_eq!(keys.names[READY + 9], b"leaseq:{emails}:ready:9");
        assert!(keys.names.iter().all(|key| key.starts_with(b"leaseq:{emails}:")));
        assert_eq!(keys.absent, b"leaseq:{emails}:absent");
    }
}
