//! Tests the program with real servers, on every engine.

// A failed step must stop the test and say where.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bench;
mod bulk;
mod changing;
mod contexts;
mod hostile;
mod large;
mod outages;
mod pages;
mod reading;
mod rights;
mod support;
mod tail;
mod takeover;
mod terminal;
mod top;
mod transfer;
mod web;
mod work;
mod workers;
