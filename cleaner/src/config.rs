//! The settings: flags win over the environment, which wins over the file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use leaseq::QueueName;
use leaseq::options::MAX_QUEUE_NAME;
use leaseq_report::{duration, shown};

use crate::config_file::{BadConfig, File};
use crate::flags::{Flags, LogFormat, LogLevel};

/// The default of `listen`.
const LISTEN: &str = "127.0.0.1:9470";
const MIN_LIGHT: Duration = Duration::from_millis(10);
const MAX_LIGHT: Duration = Duration::from_secs(3600);
const MIN_DEEP: Duration = Duration::from_secs(1);
const MAX_DEEP: Duration = Duration::from_secs(366 * 86_400);

/// Where the HTTP server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listen {
    Nowhere,
    /// Configured: an error if the address is in use.
    At(SocketAddr),
    /// The default: not used if another process has the address.
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

/// All settings, merged and checked.
#[derive(Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) url: String,
    /// `None`: all.
    pub(crate) queues: Option<Vec<String>>,
    pub(crate) light_interval: Duration,
    pub(crate) deep_interval: Duration,
    pub(crate) listen: Listen,
    /// Where the cursors of the events are that are written; `None`: none are.
    pub(crate) events: Option<PathBuf>,
    pub(crate) log_format: LogFormat,
    pub(crate) log_level: LogLevel,
}

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
            events: flags.events.clone().or(file.events),
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
            events: self.events.clone(),
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
    use clap::Parser;

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
        // The password is at its usual place, and nowhere else.
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
