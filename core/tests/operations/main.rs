//! Tests of every operation and every guarantee of the contract.

#![cfg(all(feature = "redis", feature = "sqlite", feature = "testing"))]
// Tests may panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../support/mod.rs"]
mod support;

mod add;
mod attach;
mod attach_members;
mod batches;
mod cancel;
mod cancel_groups;
mod cancelled;
mod change;
mod complete;
mod complete_and_lease;
mod drop;
mod drop_on_redis;
mod events;
mod expires;
mod follow_ups;
mod format;
mod get_many;
mod group_outcome;
mod groups;
mod groups_any_order;
mod groups_on_redis;
mod history;
mod holders;
mod key_lines;
mod key_order;
mod key_rate;
mod key_unique;
mod keys;
mod keys_on_redis;
mod lanes;
mod large;
mod lease;
mod lines_on_redis;
mod list;
mod list_cursors;
mod mixed;
mod names;
mod operators;
mod order;
mod outbox;
mod outbox_on_redis;
mod outcome;
mod outcome_many;
mod progress;
mod query;
mod rate;
mod rate_waits;
mod refused_members;
mod retain;
mod schedules;
mod settings;
mod settings_sweep;
mod settle;
mod stale;
mod successors;
mod tending;
mod together;
mod unique;
mod waiting;
mod wanted;
mod workers;
mod workers_on_redis;
