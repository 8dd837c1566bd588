//! Texts that people read: names, owners and reasons. They have no control characters, because people read them on terminals, and not
//! every language has texts with NUL.

use std::ops::RangeInclusive;

use crate::error::show_id;
use crate::{Error, Result};

/// `Invalid` for a text of another length in bytes, or with a control character.
pub(crate) fn check_text(what: &str, text: &str, lengths: RangeInclusive<usize>) -> Result<()> {
    if !lengths.contains(&text.len()) {
        let (shown, length) = (show_id(text.as_bytes()), text.len());
        let (least, most) = lengths.into_inner();
        return Err(Error::invalid(format_args!(
            "{what} {shown} has {length} bytes, not between {least} and {most}"
        )));
    }
    check_printable(what, text)
}

/// `Invalid` for a text with a control character.
pub(crate) fn check_printable(what: &str, text: &str) -> Result<()> {
    match text.chars().any(char::is_control) {
        true => Err(Error::invalid(format_args!("{what} {text:?} has a control character"))),
        false => Ok(()),
    }
}

/// The text without control characters, cut to the whole characters that fit into so many bytes.
pub fn fit_text(text: &str, most: usize) -> String {
    let mut length = 0;
    let fits = |char: &char| {
        length += char.len_utf8();
        length <= most
    };
    text.chars().filter(|char| !char.is_control()).take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_to_whole_characters() {
        assert_eq!(fit_text("a\u{1b}da@web-1\n", 128), "ada@web-1");
        assert_eq!(fit_text(&"x".repeat(128), 128), "x".repeat(128));
        assert_eq!(fit_text(&"é".repeat(70), 128), "é".repeat(64));
        assert_eq!(fit_text(&format!("x{}", "é".repeat(64)), 128), format!("x{}", "é".repeat(63)));
    }
}
