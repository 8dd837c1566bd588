//! Every kind of damage: found by `check`, mended by `deep_clean`, with nothing lost; and none
//! found where there is none.

#![cfg(all(feature = "redis", feature = "sqlite", feature = "testing"))]
// A test may fail loudly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
mod cost;
#[path = "../support/damage.rs"]
mod damage;
mod keys;
mod load;
mod mended;
mod stage;
#[path = "../support/mod.rs"]
mod support;
