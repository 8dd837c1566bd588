//! How the programs of leaseq show queues: snapshots, counts as JSON and as Prometheus metrics, durations, and text
//! from outside that is safe on a terminal and in logs.

#![forbid(unsafe_code)]

mod counts;
pub mod duration;
mod escape;
mod metrics;
mod secrets;
mod snapshot;

pub use counts::{QueueCounts, summary};
pub use escape::{escaped, escaped_bytes};
pub use metrics::encode_counts;
pub use secrets::{shown, without_secrets};
pub use snapshot::Snapshot;
