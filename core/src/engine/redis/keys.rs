//! The only place where a key is spelled.

use crate::name::QueueName;

/// Keys of one queue in the order that `scripts/parts/keys.lua` names: a script is sent only as
/// many of them as it uses. They share a hash tag, so that a Cluster keeps them on one node.
#[derive(Debug)]
pub(super) struct Keys([Vec<u8>; 19]);

/// How many keys a script uses, by the last of them.
pub(super) const UP_TO_META: usize = 2;
pub(super) const UP_TO_EXTRA: usize = 6;
pub(super) const UP_TO_WAKE: usize = 7;
pub(super) const UP_TO_DEAD: usize = 9;
pub(super) const UP_TO_READY: usize = 10;
pub(super) const ALL: usize = 19;

const NAMES: [&str; 10] =
    ["lanes", "meta", "items", "ids", "leased", "extra", "wake", "delayed", "dead", "ready"];

impl Keys {
    pub(super) fn new(namespace: &str, queue: &QueueName) -> Self {
        Keys(std::array::from_fn(|i| {
            match NAMES.get(i) {
                Some(name) => format!("{namespace}:{{{queue}}}:{name}"),
                // Priority 0 has the plain name, so that an autoscaler can read its length.
                None => format!("{namespace}:{{{queue}}}:ready:{}", i - 9),
            }
            .into_bytes()
        }))
    }

    pub(super) fn first(&self, count: usize) -> &[Vec<u8>] {
        &self.0[..count]
    }

    pub(super) fn lanes(&self) -> &[u8] {
        &self.0[0]
    }

    pub(super) fn meta(&self) -> &[u8] {
        &self.0[1]
    }

    pub(super) fn wake(&self) -> &[u8] {
        &self.0[6]
    }

    /// What comes after the hash tag, for people.
    pub(super) fn short_name(index: usize) -> String {
        match NAMES.get(index) {
            Some(name) => (*name).to_owned(),
            None => format!("ready:{}", index - 9),
        }
    }
}

/// The set of known queue names.
pub(super) fn queues(namespace: &str) -> Vec<u8> {
    format!("{namespace}:queues").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_queue_share_a_hash_tag() {
        let keys = Keys::new("leaseq", &QueueName::new("emails").unwrap());
        assert_eq!(keys.0[9], b"leaseq:{emails}:ready");
        assert_eq!(keys.0[18], b"leaseq:{emails}:ready:9");
        assert!(keys.0.iter().all(|key| key.starts_with(b"leaseq:{emails}:")));
    }
}
