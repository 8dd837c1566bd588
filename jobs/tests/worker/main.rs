//! Tests of producers and workers, on the embedded engine and on a real Redis server.

// Tests may panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

mod admission;
mod boundary;
mod cancellation;
mod chains;
mod control_groups;
mod enqueue;
mod faults;
mod handlers;
mod listed;
mod many_queues;
mod observed;
mod pacing;
mod prefetch;
mod queues;
mod retries;
mod schedules;
mod shutdown;
mod signals;
mod slots;
mod slow_queues;
mod timeouts;
