//! Quotes the user's input in messages, without its secrets.

/// Longest part of a wrong value in a message, in characters.
const MAX_SHOWN: usize = 200;

/// Removes secrets from a message about the command line, which may quote any argument or variable.
pub fn without_secrets(mut message: String) -> String {
    let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
    let arguments = std::env::args_os().skip(1).map(text);
    let variables = std::env::vars_os().map(|(_, value)| text(value));
    for value in arguments.chain(variables) {
        // The message may also quote the value of `--flag=value`.
        for part in [&*value, value.split_once('=').map_or("", |(_, after)| after)] {
            if ["@", "//", "password="].iter().any(|sign| part.contains(sign)) {
                message = message.replace(part, &leaseq::redact_url(part));
            }
        }
    }
    message
}

/// A wrong value, for messages. It may be a URL in the wrong place.
pub fn shown(value: &str) -> String {
    let may_be_url = value.contains(['@', '?', '&', '=']) || value.contains("//");
    let value = if may_be_url { leaseq::redact_url(value) } else { value.to_owned() };
    value.chars().take(MAX_SHOWN).collect()
}
