//! `make demo`: processes real work with the queue, and checks the results.

use std::process::ExitCode;

fn main() -> ExitCode {
    leaseq_conformance::demo::main()
}
