//! Every script that writes, stopped by an error after each of its calls, in each run a third of them: nothing that was
//! acknowledged is lost, and a deep clean leaves a sound queue. `LEASEQ_STRESS=1` stops after all.

#![cfg(all(feature = "redis", feature = "sqlite", feature = "testing"))]
// A test may fail loudly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod broken;
mod cancel_groups;
#[path = "../support/damage.rs"]
mod damage;
mod events;
mod extended;
mod fixtures;
mod follow_ups;
mod groups;
mod history;
mod keys;
mod keys_again;
mod plain_follow_ups;
mod refused;
mod scenarios;
mod schedules;
mod successor_follow_ups;
mod successors;
#[path = "../support/mod.rs"]
mod support;
mod verify;
mod workers;
