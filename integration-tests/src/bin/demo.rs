//! `make demo`: puts real work through the queue, and checks it.

use std::process::ExitCode;

fn main() -> ExitCode {
    leaseq_conformance::demo::main()
}
