//! Hides parts of data, results and errors.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// What stands in place of a hidden value.
const HIDDEN: &str = "\"[redacted]\"";
/// Shorter texts are not searched for in errors: they are part of too many words.
const MIN_SEARCHED: usize = 4;

/// The JSON pointers of what is hidden. In a pointer, `*` stands for any name or index.
#[derive(Debug, Default)]
pub(crate) struct Redaction(Vec<Vec<String>>);

impl Redaction {
    /// # Errors
    /// If one of them is no JSON pointer.
    pub(crate) fn new(pointers: &[String]) -> Result<Redaction, String> {
        let parse = |pointer: &String| {
            let wrong =
                || format!("{pointer:?} is no JSON pointer: write /card/number, or /*/password");
            let path = pointer.strip_prefix('/').ok_or_else(wrong)?;
            Ok(path.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect())
        };
        pointers.iter().map(parse).collect::<Result<_, _>>().map(Redaction)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The data with what is hidden replaced. What is no JSON has no such parts.
    pub(crate) fn data<'a>(&self, data: &'a [u8]) -> Cow<'a, [u8]> {
        let hidden = self.hidden(data);
        if hidden.is_empty() {
            return Cow::Borrowed(data);
        }
        let mut out = Vec::with_capacity(data.len());
        let mut end = 0;
        for (from, to) in hidden {
            // A part of a hidden value may be named too.
            if from >= end {
                out.extend_from_slice(&data[end..from]);
                out.extend_from_slice(HIDDEN.as_bytes());
                end = to;
            }
        }
        out.extend_from_slice(&data[end..]);
        Cow::Owned(out)
    }

    /// The error with what is hidden in it, and with the hidden values of its item's data.
    pub(crate) fn error<'a>(&self, error: &'a str, data: &[u8]) -> Cow<'a, str> {
        if self.is_empty() {
            return Cow::Borrowed(error);
        }
        let mut text = String::from_utf8_lossy(&self.data(error.as_bytes())).into_owned();
        for (from, to) in self.hidden(data) {
            let raw = String::from_utf8_lossy(&data[from..to]);
            let plain = serde_json::from_str::<String>(&raw).unwrap_or_else(|_| raw.into_owned());
            if plain.len() >= MIN_SEARCHED {
                text = text.replace(&plain, "[redacted]");
            }
        }
        Cow::Owned(text)
    }

    /// Where hidden values begin and end, in order.
    fn hidden(&self, data: &[u8]) -> Vec<(usize, usize)> {
        if self.is_empty() {
            return Vec::new();
        }
        let Ok(whole) = serde_json::from_slice::<&RawValue>(data) else { return Vec::new() };
        let paths: Vec<&[String]> = self.0.iter().map(Vec::as_slice).collect();
        let mut found = Vec::new();
        find(whole.get(), &paths, &mut found);
        let start = data.as_ptr() as usize;
        // The values are parts of the data, which they borrow.
        let place = |part: &str| {
            let from = part.as_ptr() as usize - start;
            (from, from + part.len())
        };
        let mut places: Vec<_> = found.into_iter().map(place).collect();
        places.sort_unstable();
        places
    }
}

/// Finds the values of this one that the paths name.
fn find<'a>(json: &'a str, paths: &[&[String]], found: &mut Vec<&'a str>) {
    if paths.iter().any(|path| path.is_empty()) {
        found.push(json);
        return;
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    // A name may stand twice: both are followed.
    let members = Members.deserialize(&mut deserializer).unwrap_or_default();
    for (name, value) in members {
        let rest: Vec<&[String]> = paths
            .iter()
            .filter_map(|path| path.split_first())
            .filter(|(first, _)| *first == "*" || **first == name)
            .map(|(_, rest)| rest)
            .collect();
        if !rest.is_empty() {
            find(value.get(), &rest, found);
        }
    }
}

/// Reads the members of an object, or the elements of an array under their indexes, as they are written.
struct Members;

impl<'de> DeserializeSeed<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(element) = elements.next_element()? {
            members.push((members.len().to_string(), element));
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hide(pointers: &[&str]) -> Redaction {
        Redaction::new(&pointers.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    }

    fn data(pointers: &[&str], json: &str) -> String {
        String::from_utf8(hide(pointers).data(json.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn values_are_hidden_and_everything_else_stays_as_it_is() {
        let json = r#" {"card":{"number":"4111 1111","n":12345678901234567890},"a":[1,{"p":2}], "x~/y":3}"#;
        for (pointers, expected) in [
            (&["/card/number"][..], json.replace("\"4111 1111\"", HIDDEN)),
            (
                &["/card", "/card/number"],
                json.replace(r#"{"number":"4111 1111","n":12345678901234567890}"#, HIDDEN),
            ),
            (&["/a/1/p"], json.replace("2}]", "\"[redacted]\"}]")),
            (&["/a/*/p"], json.replace("2}]", "\"[redacted]\"}]")),
            (&["/x~0~1y"], json.replace("3}", "\"[redacted]\"}")),
            (&["/nothing", "/a/7", "/card/number/0"], json.into()),
        ] {
            assert_eq!(data(pointers, json), expected);
        }
        assert_eq!(data(&["/p"], r#"{"p":1,"p":"two"}"#), r#"{"p":"[redacted]","p":"[redacted]"}"#);
        assert_eq!(data(&["/\u{70}"], r#"{"\u0070":1}"#), r#"{"\u0070":"[redacted]"}"#);
        assert_eq!(data(&["/p"], "no json"), "no json");
    }

    #[test]
    fn hidden_values_are_hidden_in_errors() {
        let hide = hide(&["/card"]);
        let data = br#"{"card":"4111\u00201111","id":7}"#;
        assert_eq!(hide.error("card 4111 1111 is refused", data), "card [redacted] is refused");
        assert_eq!(hide.error(r#"{"card":"x","at":1}"#, b"-"), r#"{"card":"[redacted]","at":1}"#);
    }

    #[test]
    fn what_is_no_pointer_is_refused() {
        for wrong in ["", "card", "card/number"] {
            assert!(Redaction::new(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
