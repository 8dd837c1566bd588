//! How the programs of leaseq show queues: snapshots, counts as JSON and as Prometheus metrics, durations, and text
//! from outside that is safe on a terminal and in logs. And what the command line and the console do in the same way.

#![forbid(unsafe_code)]

mod action;
mod counts;
pub mod duration;
mod error_kind;
mod escape;
#[cfg(feature = "http")]
pub mod http;
mod item_options;
mod mark;
mod metrics;
mod pause_note;
mod readable;
mod secrets;
mod snapshot;
pub mod text;

pub use action::Action;
pub use counts::{QueueCounts, summary};
pub use error_kind::error_kind;
pub use escape::{escaped, escaped_bytes};
pub use item_options::item_options;
pub use mark::Mark;
pub use metrics::encode_counts;
pub use pause_note::pause_note;
pub use readable::{is_json, readable};
pub use secrets::{shown, without_secrets};
pub use snapshot::Snapshot;
