//! What a query or a form says.

use leaseq_report::text;
use percent_encoding::percent_decode;

use crate::failure::Failure;

/// Names and values, of a query or a form.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// # Errors
    /// If it is not UTF-8: another character in the place of one would select other items.
    pub(crate) fn read(text: &[u8]) -> Result<Fields, Failure> {
        let decode = |part: &[u8]| {
            let spaced: Vec<u8> = part.iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect();
            let wrong = |_| Failure::invalid("a query or form must be UTF-8, and this is not");
            String::from_utf8(percent_decode(&spaced).collect()).map_err(wrong)
        };
        let pairs = text.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
        let read = |pair: &[u8]| {
            let mut parts = pair.splitn(2, |byte| *byte == b'=');
            let mut next = || decode(parts.next().unwrap_or_default());
            Ok((next()?, next()?))
        };
        pairs.map(read).collect::<Result<_, _>>().map(Fields)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_browsers_write_them() {
        let fields = Fields::read(b"a=1&b=x+y%2B%C3%A4&&c&a=2&d==%3D&%61b=").unwrap();
        let pairs: Vec<_> = fields.0.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let expected =
            [("a", "1"), ("b", "x y+\u{e4}"), ("c", ""), ("a", "2"), ("d", "=="), ("ab", "")];
        assert_eq!(pairs, expected);
        for wrong in [&b"a=%ff"[..], b"%C3=x", b"a=%C3%28", b"a=\xff", b"x=1&a=%ED%A0%80"] {
            assert!(Fields::read(wrong).is_err(), "{wrong:?}");
        }
        // No escape.
        assert_eq!(Fields::read(b"a=100%&b=%zz").unwrap().get("b"), Some("%zz"));
    }
}
