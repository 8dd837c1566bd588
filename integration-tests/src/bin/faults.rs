//! `make faults`: what breaks, in every language and on every engine.

use std::process::ExitCode;

fn main() -> ExitCode {
    leaseq_conformance::faults::main()
}
