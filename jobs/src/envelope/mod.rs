//! The envelope: how a job is written as the data of an item. Every language reads and writes it.
//!
//! ```json
//! {"v":1,"job":"mail.send","args":{"to":"ada@example.org"},"meta":{"traceparent":"…"},"timeout":30000,"retry":{"max":5}}
//! ```
//!
//! `meta`, `timeout` (ms) and `retry` may be missing. What the queue decides on, such as delay, priority and unique
//! key, is an option of the item and not part of it.

mod check;
mod limits;
mod read;
mod retry_fields;
mod write;

pub(crate) use self::read::Envelope;
pub(crate) use self::retry_fields::RetryFields;
pub use self::write::to_json;
pub(crate) use self::write::{write, write_args};
