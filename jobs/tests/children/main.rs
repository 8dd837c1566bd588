//! Tests of jobs in child processes.

// Tests may panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod child;
mod deaths;
mod languages;
mod pools;
mod support;
mod workers;
