//! The command line and the environment.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use leaseq_report::{duration, without_secrets};
use serde::{Deserialize, Serialize};

/// Keeps the queues of leaseq clean: makes due items ready, reclaims expired leases, mends damage,
/// and reports the condition of the queues.
///
/// Any number of cleaners may run side by side. Exit status: 0 after SIGTERM or SIGINT, or if
/// nothing is wrong; 1 if something is wrong with a queue or its server; 2 for a bad configuration
/// or a server that cannot be reached. Write durations as 500ms, 1s, 10m, 6h.
#[derive(Debug, Clone, Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Flags {
    /// Configuration file (TOML); SIGHUP reads it again
    #[arg(long, value_name = "FILE", env = "LEASEQ_CLEANER_CONFIG", hide_env_values = true)]
    pub(crate) config: Option<PathBuf>,
    /// URL of the queues: redis://…, sqlite:… [default: REDIS_URL]. Other users can see the command
    /// line: put a password into the environment or the file
    #[arg(long, value_name = "URL", env = "LEASEQ_URL", hide_env_values = true)]
    pub(crate) url: Option<String>,
    /// Only these queues [default: all]
    #[arg(long = "queue", value_name = "NAME", num_args = 1.., value_delimiter = ',', env = "LEASEQ_CLEANER_QUEUES", hide_env_values = true)]
    pub(crate) queues: Option<Vec<String>>,
    /// Fallback poll interval, multiplied by the number of queues, at most 30 s; the server
    /// announces most due items sooner [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = duration::read, env = "LEASEQ_CLEANER_LIGHT_INTERVAL", hide_env_values = true)]
    pub(crate) light_interval: Option<Duration>,
    /// Interval between deep cleans of a queue, by any cleaner [default: 6h]
    #[arg(long, value_name = "DURATION", value_parser = duration::read, env = "LEASEQ_CLEANER_DEEP_INTERVAL", hide_env_values = true)]
    pub(crate) deep_interval: Option<Duration>,
    /// Address and port of the HTTP server, or none [default: 127.0.0.1:9470, if it is free]
    #[arg(long, value_name = "ADDRESS", env = "LEASEQ_CLEANER_LISTEN", hide_env_values = true)]
    pub(crate) listen: Option<String>,
    /// Format of the log on standard error [default: text]
    #[arg(long, value_name = "FORMAT", env = "LEASEQ_CLEANER_LOG_FORMAT", hide_env_values = true)]
    pub(crate) log_format: Option<LogFormat>,
    /// Write the events of queues that keep them to standard output, a JSON object on each line;
    /// FILE has how far it has come, so that a restart goes on there
    #[arg(long, value_name = "FILE", env = "LEASEQ_CLEANER_EVENTS", hide_env_values = true)]
    pub(crate) events: Option<PathBuf>,
    /// Lowest level to log [default: info]
    #[arg(long, value_name = "LEVEL", env = "LEASEQ_CLEANER_LOG_LEVEL", hide_env_values = true)]
    pub(crate) log_level: Option<LogLevel>,
    /// Clean each queue once, lightly and deeply, then exit
    #[arg(long, group = "mode")]
    once: bool,
    /// Report damage without mending it; exit status 1 if there is any
    #[arg(long, group = "mode")]
    check: bool,
    /// Report how durable the queues are and what to change; exit status 1 if a guarantee is at
    /// risk
    #[arg(long, group = "mode")]
    doctor: bool,
    /// Print the configuration, without passwords, and exit
    #[arg(long, group = "mode")]
    pub(crate) print_config: bool,
    /// Print the report of --once, --check or --doctor as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the manual page and exit
    #[arg(long, group = "mode", hide = true)]
    pub(crate) man: bool,
}

impl Flags {
    /// Exits if the command line is wrong or asks for help.
    pub(crate) fn parse_or_exit() -> Flags {
        Flags::try_parse().unwrap_or_else(|error| {
            if !error.use_stderr() {
                error.exit();
            }
            eprint!("{}", without_secrets(error.to_string()));
            std::process::exit(error.exit_code());
        })
    }

    pub(crate) fn mode(&self) -> Option<Mode> {
        match self {
            Flags { once: true, .. } => Some(Mode::Once),
            Flags { check: true, .. } => Some(Mode::Check),
            Flags { doctor: true, .. } => Some(Mode::Doctor),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

/// A run that ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Once,
    Check,
    Doctor,
}
