//! Which node of a cluster has which queue.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::connection::Endpoint;
use super::place::Node;
use crate::lock::lock;
use crate::name::QueueName;

/// The known nodes by hash slot; `None` is the list of all queues. So there are at most 16,385 entries,
/// however many queues there are.
#[derive(Default)]
pub(super) struct Routes {
    nodes: Mutex<HashMap<Option<u16>, Node>>,
    next_seed: AtomicUsize,
}

impl Routes {
    /// The node that has the queue; if none is known, one of `seeds`.
    pub(super) fn node(&self, queue: &QueueName, seeds: &[Node]) -> Node {
        if let Some(node) = self.lock().get(&hash_slot(queue)) {
            return node.clone();
        }
        seeds[self.next_seed.load(Ordering::Relaxed) % seeds.len()].clone()
    }

    pub(super) fn set(&self, queue: &QueueName, node: Node) {
        self.lock().insert(hash_slot(queue), node);
    }

    /// Forgets the node after a failure, so that another node is asked next.
    pub(super) fn forget(&self, queue: &QueueName) {
        if self.lock().remove(&hash_slot(queue)).is_none() {
            self.next_seed.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<u16>, Node>> {
        lock(&self.nodes)
    }
}

/// A redirection without a host means the host that was asked.
pub(super) fn on_same_host((host, port): Node, asked: &Endpoint) -> Node {
    match asked {
        Endpoint::Node((asked, _)) if host.is_empty() => (asked.clone(), port),
        _ => (host, port),
    }
}

/// The hash slot of a queue's keys, whose hash tag is its name.
fn hash_slot(queue: &QueueName) -> Option<u16> {
    if *queue == QueueName::directory() {
        return None;
    }
    let crc = queue.as_str().bytes().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
        })
    });
    Some(crc % 16_384)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_has_the_slot_that_a_cluster_gives_its_keys() {
        let slot = |name: &str| hash_slot(&QueueName::new(name).unwrap());
        // As CLUSTER KEYSLOT answers.
        assert_eq!(
            (slot("123456789"), slot("foo"), slot("bar")),
            (Some(12_739), Some(12_182), Some(5_061))
        );
        assert_eq!(hash_slot(&QueueName::directory()), None);
    }
}
