//! Failures around a queue: of servers, networks and callers.

#![cfg(all(feature = "redis", feature = "testing"))]
// A failed step must stop the test and show its line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bounds;
mod cancelled;
mod closing;
mod cluster;
mod confirmed;
mod confirmed_answers;
mod doctor;
mod failover;
mod fsync;
mod full;
mod gave_up;
mod half_open;
mod idle;
mod kept_alive;
mod lost_replies;
mod outbox;
mod outcomes;
mod pair;
mod places;
mod progress;
mod rate_looks;
mod replica;
mod restart;
mod rights;
mod rolled_back;
mod sentinel;
mod shared_wait;
mod slow_network;
mod stolen_token;
mod support;
mod told;
mod too_large;
mod torn_log;
mod waiting;
