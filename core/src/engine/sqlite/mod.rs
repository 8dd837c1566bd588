//! The embedded engine: SQLite, in a file shared by the processes of a machine, or in memory.
//!
//! A transaction is atomic, and its outcome reaches the caller unless the process dies. So the request ids
//! of the operations are not needed here.

mod add;
mod admin;
mod attach;
mod attempts;
mod audit;
mod audit_keys;
mod auditor;
mod cancel;
mod cancel_members;
mod cancelling;
mod change;
mod change_notifier;
mod clean;
mod connection_slot;
mod count_delta;
mod database;
mod distribute;
mod dropped;
mod due;
mod endings;
mod engine;
mod error;
mod events;
mod executor;
mod expired;
mod expiry;
mod extra;
mod files;
mod follow_ups;
mod groups;
mod history;
mod info;
mod key_line;
mod key_meter;
mod keys;
mod known_settings;
mod large;
mod lease;
mod leasing;
mod list;
mod location;
mod maintenance;
mod members;
mod mend;
mod named;
mod noted_events;
mod numbers;
mod open;
mod opening;
mod operations;
mod outcomes;
mod packed_items;
#[cfg(test)]
mod plans;
mod process;
mod progress;
mod query;
mod quiesce;
mod rate;
mod readable;
mod reader;
mod row;
mod schedules;
mod settings;
mod settle;
mod succeed;
mod successors;
mod sweep;
mod take_by_keys;
mod taking;
#[cfg(test)]
mod tests;
mod unique;
mod wal_probe;
mod wal_watcher;
mod workers;
mod writer_lock;

pub(crate) use self::engine::SqliteEngine;
