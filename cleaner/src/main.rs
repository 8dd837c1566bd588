//! `leaseq-cleaner`: started once, it keeps queues clean and tells how they are. What cleaning is
//! stands in the library; here are a loop, a configuration and a small HTTP server.

#![forbid(unsafe_code)]

mod config;
mod daemon;
mod duration;
mod http;
mod json;
mod logs;
mod metrics;
mod once;
mod overview;
mod queues;
mod signals;

use std::process::ExitCode;

use clap::Parser;

use crate::config::{Flags, Settings};

/// Something is wrong with a queue, or with where it is kept.
const WRONG: u8 = 1;
/// The request could not be carried out: a bad configuration, or no server.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let flags = Flags::parse();
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
            logs::start(&settings);
            runtime.block_on(daemon::run(flags, settings)).map(|()| ExitCode::SUCCESS)
        }
    };
    outcome.unwrap_or_else(|error| fail(&error))
}

fn fail(error: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("leaseq-cleaner: {error}");
    ExitCode::from(FAILED)
}
