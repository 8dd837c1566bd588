//! Tests the C interface from C: programs are compiled against an installed prefix, as users do,
//! and run.
// A failed step must stop the test and say where.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod consumers;
mod header;
mod installed;
mod job_examples;
mod nulls;
mod programs;
mod readme;
mod sources;
mod talk;
