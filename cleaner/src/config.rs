//! What the cleaner does and where: file < environment < flags.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use leaseq::QueueName;
use leaseq::options::MAX_QUEUE_NAME;
use serde::{Deserialize, Serialize};

use crate::config_file::File;
use crate::duration;
use crate::once::Mode;

/// Where it listens unless told otherwise.
const LISTEN: &str = "127.0.0.1:9470";
/// How much of a wrong value a message shows.
const MAX_SHOWN: usize = 200;
const MIN_LIGHT: Duration = Duration::from_millis(10);
const MAX_LIGHT: Duration = Duration::from_secs(3600);
const MIN_DEEP: Duration = Duration::from_secs(1);
const MAX_DEEP: Duration = Duration::from_secs(366 * 86_400);

/// Keeps the queues of leaseq clean: makes due items ready, reclaims expired leases, mends damage,
/// and tells how the queues are.
///
/// Any number of cleaners may run side by side. Exit status: 0 after SIGTERM or SIGINT, or if
/// nothing is wrong; 1 if something is wrong with a queue or its server; 2 for a bad configuration
/// or a server that cannot be reached. Durations are written 500ms, 1s, 10m, 6h.
#[derive(Debug, Clone, Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Flags {
    /// Configuration file (TOML); SIGHUP reads it again
    #[arg(long, value_name = "FILE", env = "LEASEQ_CLEANER_CONFIG", hide_env_values = true)]
    config: Option<PathBuf>,
    /// Where the queues are: redis://…, sqlite:… [without: REDIS_URL]. Others can see the command
    /// line: a password is better put into the environment or the file
    #[arg(long, value_name = "URL", env = "LEASEQ_URL", hide_env_values = true)]
    url: Option<String>,
    /// Only these queues [default: all]
    #[arg(long = "queue", value_name = "NAME", num_args = 1.., value_delimiter = ',', env = "LEASEQ_CLEANER_QUEUES", hide_env_values = true)]
    queues: Option<Vec<String>>,
    /// How long it may rest without looking, times the number of queues, 30 s at most; it is told of
    /// what is due before [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = duration::read, env = "LEASEQ_CLEANER_LIGHT_INTERVAL", hide_env_values = true)]
    light_interval: Option<Duration>,
    /// How often each queue is cleaned deeply, by whichever cleaner [default: 6h]
    #[arg(long, value_name = "DURATION", value_parser = duration::read, env = "LEASEQ_CLEANER_DEEP_INTERVAL", hide_env_values = true)]
    deep_interval: Option<Duration>,
    /// Where to answer HTTP: an address with port, or none [default: 127.0.0.1:9470, if it is free]
    #[arg(long, value_name = "ADDRESS", env = "LEASEQ_CLEANER_LISTEN", hide_env_values = true)]
    listen: Option<String>,
    /// How to log, to the standard error output [default: text]
    #[arg(long, value_name = "FORMAT", env = "LEASEQ_CLEANER_LOG_FORMAT", hide_env_values = true)]
    log_format: Option<LogFormat>,
    /// What to log: error, warn, info or debug [default: info]
    #[arg(long, value_name = "LEVEL", env = "LEASEQ_CLEANER_LOG_LEVEL", hide_env_values = true)]
    log_level: Option<LogLevel>,
    /// One light and one deep clean of each queue, then exit
    #[arg(long, group = "mode")]
    once: bool,
    /// Only look for damage; exit status 1 if there is any
    #[arg(long, group = "mode")]
    check: bool,
    /// Only tell how durable the queues are and what to change; exit status 1 if a guarantee is at
    /// stake
    #[arg(long, group = "mode")]
    doctor: bool,
    /// Print the configuration, without passwords, and exit
    #[arg(long, group = "mode")]
    pub(crate) print_config: bool,
    /// Answer --once, --check or --doctor in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Flags {
    /// Ends the process if the command line is wrong, or asks for help.
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

/// Where to answer HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listen {
    Nowhere,
    /// Somebody asked for it: it is an error if it is not free.
    At(SocketAddr),
    /// Unless another cleaner is there already.
    IfFree(SocketAddr),
}

impl Listen {
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Listen::Nowhere => None,
            Listen::At(address) | Listen::IfFree(address) => Some(*address),
        }
    }
}

/// Everything, put together and checked.
#[derive(Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) url: String,
    /// `None`: all.
    pub(crate) queues: Option<Vec<String>>,
    pub(crate) light_interval: Duration,
    pub(crate) deep_interval: Duration,
    pub(crate) listen: Listen,
    pub(crate) log_format: LogFormat,
    pub(crate) log_level: LogLevel,
}

/// What is wrong with the configuration, for people.
#[derive(Debug)]
pub(crate) struct BadConfig(pub(crate) String);

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadConfig {}

impl Settings {
    pub(crate) fn load(flags: &Flags) -> Result<Settings, BadConfig> {
        let file = flags.config.as_deref().map(File::read).transpose()?.unwrap_or_default();
        Self::combine(flags, file)
    }

    fn combine(flags: &Flags, file: File) -> Result<Settings, BadConfig> {
        let bad = |what: &str, error: String| BadConfig(format!("{what}: {error}"));
        let time = |what, flag: Option<Duration>, file: &Option<String>, default, min, max| {
            let from_file = file.as_deref().map(duration::read).transpose();
            let time = flag.or(from_file.map_err(|error| bad(what, error))?).unwrap_or(default);
            if time < min || time > max {
                let (min, max) = (duration::show(min), duration::show(max));
                let shown = duration::show(time);
                return Err(bad(what, format!("{shown} is not between {min} and {max}")));
            }
            Ok(time)
        };
        let other = || std::env::var("REDIS_URL").ok();
        let full = |url: &String| !url.is_empty();
        let url = flags.url.clone().filter(full).or(file.url).or_else(other).filter(full);
        let url = url.ok_or_else(|| {
            BadConfig(
                "no url: give --url, set the environment variable LEASEQ_URL or REDIS_URL, or put \
                 url into the file of --config"
                    .into(),
            )
        })?;
        let queues = flags.queues.clone().or(file.queues).filter(|names| !names.is_empty());
        check_names(queues.as_deref().unwrap_or_default())?;
        let second = Duration::from_secs(1);
        let hours = Duration::from_secs(6 * 3600);
        let (light, deep) = (flags.light_interval, flags.deep_interval);
        Ok(Settings {
            url,
            queues,
            light_interval: time(
                "light_interval",
                light,
                &file.light_interval,
                second,
                MIN_LIGHT,
                MAX_LIGHT,
            )?,
            deep_interval: time(
                "deep_interval",
                deep,
                &file.deep_interval,
                hours,
                MIN_DEEP,
                MAX_DEEP,
            )?,
            listen: read_listen(flags.listen.clone().or(file.listen))?,
            log_format: flags.log_format.or(file.log_format).unwrap_or(LogFormat::Text),
            log_level: flags.log_level.or(file.log_level).unwrap_or(LogLevel::Info),
        })
    }

    /// As a configuration file, with the password hidden.
    pub(crate) fn shown(&self) -> String {
        let file = File {
            url: Some(leaseq::redact_url(&self.url)),
            queues: self.queues.clone(),
            light_interval: Some(duration::show(self.light_interval)),
            deep_interval: Some(duration::show(self.deep_interval)),
            listen: Some(
                self.listen.address().map_or_else(|| "none".into(), |address| address.to_string()),
            ),
            log_format: Some(self.log_format),
            log_level: Some(self.log_level),
        };
        toml::to_string(&file).unwrap_or_default()
    }
}

fn read_listen(text: Option<String>) -> Result<Listen, BadConfig> {
    let asked = text.is_some();
    let text = text.unwrap_or_else(|| LISTEN.into());
    if text == "none" {
        return Ok(Listen::Nowhere);
    }
    let address = text.parse().map_err(|_| {
        BadConfig(format!(
            "listen: {:?} is neither an address with port, 127.0.0.1:9470, nor none",
            shown(&text)
        ))
    })?;
    Ok(if asked { Listen::At(address) } else { Listen::IfFree(address) })
}

/// A message about the command line, which may quote any argument or variable.
fn without_secrets(mut message: String) -> String {
    let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
    let arguments = std::env::args_os().skip(1).map(text);
    let variables = std::env::vars_os().map(|(_, value)| text(value));
    for value in arguments.chain(variables) {
        // Also `--flag=value`, of which the message may quote the value.
        for part in [&*value, value.split_once('=').map_or("", |(_, after)| after)] {
            if ["@", "//", "password="].iter().any(|sign| part.contains(sign)) {
                message = message.replace(part, &leaseq::redact_url(part));
            }
        }
    }
    message
}

/// A wrong value, for messages. It may be a URL that was put in the wrong place.
pub(crate) fn shown(value: &str) -> String {
    let may_be_url = value.contains(['@', '?', '&', '=']) || value.contains("//");
    let value = if may_be_url { leaseq::redact_url(value) } else { value.to_owned() };
    value.chars().take(MAX_SHOWN).collect()
}

fn check_names(names: &[String]) -> Result<(), BadConfig> {
    let bad = names.iter().find(|name| QueueName::new(name).is_err());
    bad.map_or(Ok(()), |name| {
        Err(BadConfig(format!(
            "queue name {:?} does not match [A-Za-z0-9._-]{{1,{MAX_QUEUE_NAME}}}",
            shown(name)
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_with_accidents_is_read_or_refused_and_shows_no_password() {
        let files = [
            "url = \"redis://user:hunter2@h:1/0?x=1\"\nqueues = [\"a\", \"b\"]\n\
             light_interval = \"500ms\"\ndeep_interval = \"6h\"\n",
            "listen = \"127.0.0.1:9470\"\nlog_format = \"json\"\nlog_level = \"warn\"\n\
             url = 'redis://user:hunter2@h'\n",
        ];
        let flags = Flags::parse_from(["cleaner"]);
        // Where a password stands, and nowhere else.
        let is_place = |line: &str| line.starts_with("url =") && line.contains("://user:hunter2@");
        let whole = |text: &str| text.lines().any(is_place) && text.matches("hunter2").count() == 1;
        leaseq_test_support::with_accidents(&files, 20_000, |text| {
            let shown = match File::parse(text) {
                Ok(file) if file.url.is_none() => return, // the environment may have one
                Ok(file) => match Settings::combine(&flags, file) {
                    Ok(settings) => settings.shown(),
                    Err(error) => error.to_string(),
                },
                Err(error) => error.to_string(),
            };
            assert!(!whole(text) || !shown.contains("hunter2"), "{text}: {shown}");
        });
    }
}
