//! The configuration file.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use leaseq_report::shown;
use serde::{Deserialize, Serialize};

use crate::flags::{LogFormat, LogLevel};

/// No configuration is longer, but another file, named by mistake, may be endless.
const MAX_SIZE: u64 = 1 << 20;

/// What is wrong with the configuration.
#[derive(Debug)]
pub(crate) struct BadConfig(pub(crate) String);

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadConfig {}

/// The keys of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) url: Option<String>,
    pub(crate) queues: Option<Vec<String>>,
    pub(crate) light_interval: Option<String>,
    pub(crate) deep_interval: Option<String>,
    pub(crate) listen: Option<String>,
    pub(crate) events: Option<PathBuf>,
    pub(crate) log_format: Option<LogFormat>,
    pub(crate) log_level: Option<LogLevel>,
}

impl File {
    pub(crate) fn read(path: &Path) -> Result<File, BadConfig> {
        let name = path.display().to_string();
        let bad = |error: &dyn fmt::Display| BadConfig(format!("{}: {error}", shown(&name)));
        let file = std::fs::File::open(path).map_err(|error| bad(&error))?;
        let mut text = String::new();
        let size = file.take(MAX_SIZE + 1).read_to_string(&mut text);
        if size.map_err(|error| bad(&error))? as u64 > MAX_SIZE {
            return Err(bad(&format_args!("it is longer than {MAX_SIZE} bytes")));
        }
        File::parse(&text).map_err(|error| bad(&error))
    }

    pub(crate) fn parse(text: &str) -> Result<File, BadConfig> {
        // Not the parser's own excerpt: the line may contain a password.
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or(""));
            let line = before.matches('\n').count() + 1;
            BadConfig(format!("line {line}: {}", without_values(error.message())))
        })
    }
}

/// Removes values from a message of the parser: a value may be a URL in the wrong place.
fn without_values(message: &str) -> String {
    let quotes = ['`', '"', '\''];
    let may_have_url = ["@", "//", "?", "&", "password="].iter().any(|part| message.contains(part));
    match (message.find(quotes), message.rfind(quotes)) {
        _ if !may_have_url => message.to_owned(),
        (Some(first), Some(last)) => format!("{}***{}", &message[..=first], &message[last..]),
        _ => "***".into(),
    }
}
