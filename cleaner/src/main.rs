//! `leaseq-cleaner`: started once, it keeps queues clean and tells how they are. What cleaning is
//! stands in the library; here are a loop, a configuration and a small HTTP server.

#![forbid(unsafe_code)]

mod config;
mod config_file;
mod daemon;
mod deep;
mod duration;
mod escape;
mod http;
mod json;
mod light;
mod logs;
mod metrics;
mod once;
mod overview;
mod queues;
mod signals;
mod state;

use std::io::Write;
use std::process::ExitCode;

use crate::config::{Flags, Settings};
use crate::escape::escaped;

/// Something is wrong with a queue, or with where it is kept.
const WRONG: u8 = 1;
/// The request could not be carried out: a bad configuration, or no server.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let flags = Flags::parse_or_exit();
    let settings = match Settings::load(&flags) {
        Ok(settings) => settings,
        Err(error) => return fail(&error),
    };
    if flags.print_config {
        print!("{}", settings.shown());
        return ExitCode::SUCCESS;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    let outcome = match flags.mode() {
        Some(mode) => runtime.block_on(once::run(mode, &settings, flags.json)),
        None => {
            let _flush = logs::start(&settings);
            runtime.block_on(daemon::run(flags, settings)).map(|()| ExitCode::SUCCESS)
        }
    };
    // What hangs ends with the process.
    runtime.shutdown_background();
    outcome.unwrap_or_else(|error| fail(&error))
}

fn fail(error: &dyn std::fmt::Display) -> ExitCode {
    // Not `eprintln`, which panics if nobody reads it.
    let _ = writeln!(std::io::stderr(), "leaseq-cleaner: {}", escaped(&error.to_string()));
    ExitCode::from(FAILED)
}
