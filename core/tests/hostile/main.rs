//! Hostile input: what is allowed comes back as it went in, what is not is `Invalid`, says which
//! value and which limit, and touches nothing.

#![cfg(all(feature = "redis", feature = "sqlite", feature = "testing"))]
// A test may fail loudly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bytes;
mod large;
mod limits;
#[path = "../support/mod.rs"]
mod support;
mod urls;
