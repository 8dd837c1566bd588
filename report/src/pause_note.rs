//! Who has paused something, and why, for people.

use crate::escape::escaped;

/// ` by ada@web-1: the disk is full`, as one line that is safe to show; without what nobody has said.
pub fn pause_note(by: &str, reason: &str) -> String {
    let by = if by.is_empty() { String::new() } else { format!(" by {}", escaped(by)) };
    if reason.is_empty() { by } else { format!("{by}: {}", escaped(reason)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_said_is_left_out() {
        assert_eq!(pause_note("", ""), "");
        assert_eq!(pause_note("ada", ""), " by ada");
        assert_eq!(pause_note("", "full"), ": full");
        assert_eq!(pause_note("ada\u{1b}", "full"), " by ada\\u001b: full");
    }
}
