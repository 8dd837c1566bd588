//! Tests the console with real servers, on every engine, by raw HTTP and in a browser.

// A failed step must stop the test and say where.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod browser;
mod bulk;
mod changing;
mod example;
mod follows;
mod hostile;
mod http;
mod large;
mod live;
mod more_pages;
mod nginx;
mod outages;
mod pages;
mod routes;
mod support;
