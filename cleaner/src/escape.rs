//! Escapes text from outside, such as names and errors: it must not forge lines or control a
//! terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with each control character written as in JSON, for example `\u000a`.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if c.is_control() {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_as_json_does_it() {
        assert_eq!(escaped("a\nb\u{1b}[2J\u{7f}\u{9b}ä"), "a\\u000ab\\u001b[2J\\u007f\\u009bä");
        let json = format!("\"{}\"", escaped("\u{7f}\u{9b}\r"));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "\u{7f}\u{9b}\r");
        assert!(matches!(escaped("plain"), Cow::Borrowed(_)));
    }
}
