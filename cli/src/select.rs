//! Which items of a queue a command is about: options that several commands have.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::SystemTime;

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use leaseq::{ListOptions, State};

use crate::failure::Failure;
use crate::text::{read_time, unescape};

/// Reads the name of a state.
pub(crate) fn state_parser() -> impl TypedValueParser<Value = State> {
    PossibleValuesParser::new(State::ALL.map(State::as_str)).map(|name| {
        let mut all = State::ALL.into_iter();
        all.find(|state| state.as_str() == name).unwrap_or(State::Ready)
    })
}

/// Narrows the items of a state.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which items")]
pub(crate) struct Filter {
    /// Only items whose data contains this text
    #[arg(long = "where", value_name = "TEXT")]
    data: Option<OsString>,
    /// Only items whose last error contains this text
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Only items whose id begins so
    #[arg(long, value_name = "TEXT")]
    id_prefix: Option<OsString>,
    /// Not before: 2026-11-25T14:30:00Z, or how long ago: 30m, 6h. The time by which the state is ordered: added
    /// (ready, held), due (delayed), deadline (leased), died (dead), kept until (completed, cancelled)
    #[arg(long, value_name = "TIME", value_parser = read_time)]
    since: Option<SystemTime>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = read_time)]
    until: Option<SystemTime>,
}

impl Filter {
    pub(crate) fn options(&self) -> ListOptions {
        let mut options = ListOptions::new();
        let bytes = |text: &OsString| text.clone().into_vec();
        options.data_contains = self.data.as_ref().map(bytes).unwrap_or_default();
        options.error_contains = self.error.clone().unwrap_or_default();
        options.id_prefix = self.id_prefix.as_ref().map(bytes).unwrap_or_default();
        (options.since, options.until) = (self.since, self.until);
        options
    }

    /// Whether a page has to search.
    pub(crate) fn is_empty(&self) -> bool {
        let Filter { data, error, id_prefix, since, until } = self;
        data.is_none()
            && error.is_none()
            && id_prefix.is_none()
            && since.is_none()
            && until.is_none()
    }
}

/// Ids of items.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Ids {
    /// The ids of items; - reads them from standard input, one on each line, as lists show them
    #[arg(value_name = "ID")]
    ids: Vec<OsString>,
    /// The ids are written as lists show them, with \u001b, \xff and \\
    #[arg(long)]
    escaped: bool,
}

impl Ids {
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(crate) fn read(&self) -> Result<Vec<Vec<u8>>, Failure> {
        let mut ids = Vec::new();
        for id in &self.ids {
            if id == "-" {
                for line in std::io::stdin().lines() {
                    // Further columns of a list do not matter.
                    let line = line?;
                    let id = line.split('\t').next().unwrap_or_default();
                    if !id.is_empty() {
                        ids.push(unescaped(id)?);
                    }
                }
            } else if self.escaped {
                ids.push(unescaped(&id.to_string_lossy())?);
            } else {
                ids.push(id.clone().into_vec());
            }
        }
        Ok(ids)
    }
}

fn unescaped(id: &str) -> Result<Vec<u8>, Failure> {
    unescape(id).ok_or_else(|| Failure::usage(format_args!("{id:?} is no id as lists show them")))
}
