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

    /// The data with what is hidden replaced. Other text than JSON has no such parts; what begins like JSON and cannot be
    /// read is hidden to its end.
    pub(crate) fn data<'a>(&self, data: &'a [u8]) -> Cow<'a, [u8]> {
        replace(data, self.hidden(data, b"{["))
    }

    /// The error with what is hidden in it, and with the hidden values of its item's data.
    pub(crate) fn error<'a>(&self, error: &'a str, data: &[u8]) -> Cow<'a, str> {
        if self.is_empty() {
            return Cow::Borrowed(error);
        }
        // Words in brackets are no arrays: [Errno 9].
        let shown = replace(error.as_bytes(), self.hidden(error.as_bytes(), b"{"));
        let mut text = String::from_utf8_lossy(&shown).into_owned();
        for (from, to) in self.hidden(data, b"{[") {
            let raw = String::from_utf8_lossy(&data[from..to]);
            let plain = serde_json::from_str::<String>(&raw).unwrap_or_else(|_| raw.into_owned());
            if plain.len() >= MIN_SEARCHED {
                text = text.replace(&plain, "[redacted]");
            }
        }
        Cow::Owned(text)
    }

    /// Where hidden values begin and end, in order. The text is JSON, or has JSON in it; what begins with one of these
    /// characters and cannot be read may have such values anywhere.
    fn hidden(&self, text: &[u8], begins: &[u8]) -> Vec<(usize, usize)> {
        if self.is_empty() {
            return Vec::new();
        }
        let paths: Vec<&[String]> = self.0.iter().map(Vec::as_slice).collect();
        // The values are parts of the text, which they borrow.
        let place = |part: &str| {
            let from = part.as_ptr() as usize - text.as_ptr() as usize;
            (from, from + part.len())
        };
        let mut found = Vec::new();
        let mut unreadable = None;
        if let Ok(whole) = serde_json::from_slice::<&RawValue>(text) {
            find(whole.get(), &paths, &mut found);
        } else {
            let mut at = 0;
            while let Some(next) = text[at..].iter().position(|byte| b"{[".contains(byte)) {
                at += next;
                let deserializer = serde_json::Deserializer::from_slice(&text[at..]);
                let mut values = deserializer.into_iter::<&RawValue>();
                if let Some(Ok(value)) = values.next() {
                    find(value.get(), &paths, &mut found);
                    at += values.byte_offset();
                } else if begins.contains(&text[at]) {
                    unreadable = Some((at, text.len()));
                    break;
                } else {
                    at += 1;
                }
            }
        }
        let mut places: Vec<_> = found.into_iter().map(place).chain(unreadable).collect();
        places.sort_unstable();
        places
    }
}

/// The text with these parts replaced.
fn replace(text: &[u8], hidden: Vec<(usize, usize)>) -> Cow<'_, [u8]> {
    if hidden.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut end = 0;
    for (from, to) in hidden {
        // A part of a hidden value may be named too.
        if from >= end {
            out.extend_from_slice(&text[end..from]);
            out.extend_from_slice(HIDDEN.as_bytes());
            end = to;
        }
    }
    out.extend_from_slice(&text[end..]);
    Cow::Owned(out)
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
    fn what_is_not_one_value_of_json_hides_them_too() {
        let hidden = r#"{"p":"[redacted]"}"#;
        let json = r#"{"p":"secret"}"#;
        for (text, expected) in [
            (format!("{json} trailing"), format!("{hidden} trailing")),
            (format!("\u{feff}{json}"), format!("\u{feff}{hidden}")),
            (format!("{json}\n{json}\n"), format!("{hidden}\n{hidden}\n")),
            (format!("POST {json}"), format!("POST {hidden}")),
            ("a {'p': 'secret'}".into(), format!("a {HIDDEN}")),
            (r#"[1, {"p":"secret""#.into(), HIDDEN.into()),
            (r#""{p}""#.into(), r#""{p}""#.into()),
        ] {
            assert_eq!(data(&["/p"], &text), expected);
        }
        let broken = b"{\"p\":\"secret\xff\"}";
        assert_eq!(*hide(&["/p"]).data(broken), *HIDDEN.as_bytes());
        let deep = "[".repeat(1 << 20);
        assert_eq!(data(&["/p"], &deep), HIDDEN);
        let error = |text| hide(&["/p"]).error(text, b"").into_owned();
        assert_eq!(error("[Errno 9] with {\"p\":1}"), format!("[Errno 9] with {hidden}"));
        assert_eq!(error("[Errno 9] with {'p': 1}"), format!("[Errno 9] with {HIDDEN}"));
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
