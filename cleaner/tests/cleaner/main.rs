//! Tests the binary of the cleaner with real servers.

// A failed step must stop the test and say where.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod big;
mod daemon;
mod damage;
mod events;
mod forget;
mod history;
mod hostile;
mod http;
mod idle;
mod modes;
mod outages;
mod packaging;
mod prompt;
mod readme;
mod reload;
mod secrets;
mod side_by_side;
mod support;
