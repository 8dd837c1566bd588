//! What a query or a form says.

use leaseq_report::text;
use url::form_urlencoded;

use crate::failure::Failure;

/// Names and values, of a query or a form.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(crate) fn read(text: &[u8]) -> Fields {
        Fields(form_urlencoded::parse(text).into_owned().collect())
    }

    /// The first value of this name, unless it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A value of a type that can be written. `None` if there is none.
    pub(crate) fn parse<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Failure> {
        let wrong = |value: &str| {
            let value: String = value.chars().take(100).collect();
            Failure::invalid(format_args!("{name}: {value:?} cannot be read"))
        };
        self.get(name).map(|value| value.parse().map_err(|_| wrong(value))).transpose()
    }

    /// The bytes of an id, which is written as lists show it.
    pub(crate) fn id(&self, name: &str) -> Result<Vec<u8>, Failure> {
        let id = self.get(name).and_then(text::unescape);
        id.ok_or_else(|| Failure::invalid(format_args!("{name}: no id as lists show them")))
    }
}
