//! What only the embedded engine can do wrong: processes that are killed, a full disk, files that
//! are not what they should be, and programs that hold the lock.
//!
//! `LEASEQ_SECONDS` makes the random parts longer, `LEASEQ_SEED` repeats them.
#![cfg(all(feature = "sqlite", feature = "testing", target_os = "linux"))]
// A test may fail loudly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod checking;
mod clock;
mod damaged;
mod depth;
mod dropped;
mod forks;
mod full;
mod keys;
mod ledger;
mod libc_calls;
mod locked;
mod places;
mod processes;
mod rows;
mod sizes;
mod stopped;
mod support;
mod unusable_after_forks;
mod waiting;
mod worker;
