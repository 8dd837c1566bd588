//! Escapes text from outside, such as ids, names and errors: it must not forge lines, control a terminal, or
//! change the order in which the rest of a line is shown.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character is written as an escape: control characters, line separators, and the invisible ones that
/// change the direction of text or hide in it.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text with each such character written as in JSON, for example `\u000a`.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The same for bytes; those that are not UTF-8 are written as `\xff`.
pub fn escaped_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return escaped(text);
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        out.push_str(&escaped(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
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
        for unsafe_text in ["\u{7f}\u{9b}\r", "\u{202e}\u{2066}\u{feff}\u{2028}", "\u{e0041}"] {
            let json = format!("\"{}\"", escaped(unsafe_text));
            assert!(json.is_ascii(), "{json}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), unsafe_text);
        }
        assert!(matches!(escaped("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped() {
        assert_eq!(escaped_bytes(b"a\xff\x00\xc3\xa4"), "a\\xff\\u0000ä");
        assert!(matches!(escaped_bytes("plain ä".as_bytes()), Cow::Borrowed(_)));
    }
}
