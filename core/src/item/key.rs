//! Keys, which limit how many items are leased at the same time.

use bytes::Bytes;

/// A [key](crate::Item::key) as [`get_keys`](crate::WorkQueue::get_keys) shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyInfo {
    /// The key.
    pub key: Bytes,
    /// How many of its items may be leased at the same time.
    pub limit: u32,
    /// Whether the limit is its own, and not that of the queue.
    pub own_limit: bool,
    /// How many of its items are leased now: more than the limit after that was lowered. Leases that have expired count
    /// until somebody leases or cleans.
    pub leased: u64,
}
