//! `make conformance`: every scenario with every language on every engine.

use std::process::ExitCode;

fn main() -> ExitCode {
    leaseq_conformance::conformance::main()
}
