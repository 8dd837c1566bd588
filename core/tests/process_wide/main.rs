//! What holds for a whole process, in one of its own: its cryptography, and its log.

#![cfg(feature = "redis")]
// A failed step must stop the test and say where.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod log;
mod tls;
