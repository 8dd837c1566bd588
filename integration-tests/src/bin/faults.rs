//! `make faults`: every fault with every language on every engine.

use std::process::ExitCode;

fn main() -> ExitCode {
    leaseq_conformance::faults::main()
}
