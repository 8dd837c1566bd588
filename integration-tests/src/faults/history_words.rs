//! How reports name what a history contains.

use std::fmt::{Display, Formatter, Result};

use super::history::{Name, Options, Seen, What};

impl Display for Options {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(key) = &self.key {
            write!(f, ", unique {key} for {} ms", self.unique_for_ms)?;
        }
        if let Some(key) = &self.limit_key {
            write!(f, ", key {key}")?;
        }
        if self.retain_ms > 0 {
            write!(f, ", retained {} ms", self.retain_ms)?;
        }
        if let Some(ms) = self.expires_in_ms {
            write!(f, ", expires in {ms} ms")?;
        }
        let flags = [(self.replace, ", replaces"), (self.limited, ", limited")];
        flags.iter().filter(|(is, _)| *is).try_for_each(|(_, text)| f.write_str(text))
    }
}

impl Display for What {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            What::Remove => f.write_str("removes it"),
            What::Requeue => f.write_str("requeues it"),
            What::Bury => f.write_str("buries it"),
            What::Cancel => f.write_str("cancels it"),
            What::Revise { data: Some(data), .. } => write!(f, "revises it to data {data:016x}"),
            What::Revise { data: None, .. } => f.write_str("revises its options"),
        }
    }
}

impl Display for Seen {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} with data {:016x}, {}", self.state, self.data, self.generation)?;
        if let Some(until) = self.kept_until_ms {
            write!(f, ", kept until {until}")?;
        }
        self.result.map_or(Ok(()), |result| write!(f, ", result {result:016x}"))
    }
}

impl Name {
    pub(super) fn text(&self) -> &str {
        let (Name::Id(text) | Name::Key(text)) = self;
        text
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.text() == text
    }
}
