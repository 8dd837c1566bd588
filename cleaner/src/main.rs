//! `leaseq-cleaner`: a daemon that keeps queues clean and reports their condition. The library does
//! the cleaning; this crate adds a loop, a configuration and a small HTTP server.

#![forbid(unsafe_code)]

mod config;
mod config_file;
mod daemon;
mod deep;
mod events;
mod flags;
mod http;
mod light;
mod logs;
mod metrics;
mod once;
mod overview;
mod queues;
mod shared;
mod signals;
mod snapshot;
mod state;

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use leaseq_report::escaped;

use crate::config::Settings;
use crate::flags::Flags;

/// Exit status: something is wrong with a queue or its server.
const WRONG: u8 = 1;
/// Exit status: a bad configuration, or a server that cannot be reached.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let flags = Flags::parse_or_exit();
    if flags.man {
        return match clap_mangen::Man::new(Flags::command()).render(&mut std::io::stdout()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error),
        };
    }
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
        Some(mode) => runtime
            .block_on(once::run(mode, &settings, flags.json))
            .map(|fine| if fine { ExitCode::SUCCESS } else { ExitCode::from(WRONG) }),
        None => {
            let _flush = logs::start(&settings);
            runtime.block_on(daemon::run(flags, settings)).map(|()| ExitCode::SUCCESS)
        }
    };
    // Tasks that hang end with the process.
    runtime.shutdown_background();
    outcome.unwrap_or_else(|error| fail(&error))
}

fn fail(error: &dyn std::fmt::Display) -> ExitCode {
    // Not `eprintln`, which panics if the output is closed.
    let _ = writeln!(std::io::stderr(), "leaseq-cleaner: {}", escaped(&error.to_string()));
    ExitCode::from(FAILED)
}
