//! What errors have in common.

/// The first line of an error, with each number as `#`.
pub fn error_kind(error: &str) -> String {
    let mut kind = String::new();
    let mut in_number = false;
    for c in error.lines().next().unwrap_or_default().chars() {
        let digit = c.is_ascii_digit();
        if !digit {
            kind.push(c);
        } else if !in_number {
            kind.push('#');
        }
        in_number = digit;
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::error_kind;

    #[test]
    fn numbers_do_not_distinguish_errors() {
        assert_eq!(
            error_kind("timeout after 3012 ms, 2 retries\ntrace"),
            "timeout after # ms, # retries"
        );
        assert_eq!(error_kind(""), "");
    }
}
