//! The operations on one queue.

mod add;
mod admin;
mod attach;
mod cancel;
mod change;
mod clean;
mod events;
mod group_outcome;
mod groups;
mod history;
mod keys;
mod lease;
mod list;
mod outcome;
mod progress;
mod query;
mod schedules;
mod settings;
mod settle;
mod work_queue;

pub use self::admin::DropOptions;
pub use self::lease::CompletedAndLeased;
pub use self::settle::Hold;
pub use self::work_queue::WorkQueue;
