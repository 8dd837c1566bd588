//! Showing a URL without its secrets.
//!
//! Only what is known to be harmless is shown. Everything ambiguous is hidden: in a URL that was not encoded
//! properly, a password may extend further than it seems.

#[cfg(test)]
mod tests;

use percent_encoding::percent_decode_str;
use url::form_urlencoded;

const HIDDEN: &str = "***";
/// Limit of the characters that are shown.
const MAX_SHOWN: usize = 256;

/// Schemes that are shown: those of the engines, and common mistakes.
const SCHEMES: [&str; 19] = [
    "redis",
    "rediss",
    "redis+unix",
    "redis+sentinel",
    "rediss+sentinel",
    "redis+cluster",
    "rediss+cluster",
    "sqlite",
    "memory",
    "valkey",
    "valkeys",
    "unix",
    "tcp",
    "http",
    "https",
    "file",
    "amqp",
    "postgres",
    "postgresql",
];

/// The URL in a form that is safe to show and to log.
///
/// User and password, the values of all options that are not known to be harmless, and everything ambiguous
/// become `***`. That includes a lone user, as in `redis://secret@host`, because it is often a password.
/// Control characters are escaped, and text after 256 characters is cut off. Anything but a URL becomes
/// `***`.
///
/// ```
/// let url = "redis://me:secret@host:6379/0?timeout_ms=500&password=secret";
/// assert_eq!(leaseq::redact_url(url), "redis://***@host:6379/0?timeout_ms=500&password=***");
/// ```
pub fn redact_url(url: &str) -> String {
    let shown = match (url.split_once(':'), scheme(url)) {
        _ if url.is_empty() => String::new(),
        (Some((_, rest)), Some(scheme)) => {
            let rest = match &*scheme.to_ascii_lowercase() {
                "sqlite" | "memory" => file(rest),
                "redis+unix" => server(rest, Path::Socket),
                "redis+sentinel" | "rediss+sentinel" => server(rest, Path::Master),
                scheme if scheme.starts_with("redis") => server(rest, Path::Database),
                _ => None,
            };
            format!("{scheme}:{}", rest.as_deref().unwrap_or(HIDDEN))
        }
        _ => HIDDEN.into(),
    };
    match shown.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}

/// The scheme of the URL, if it may be shown. The text before the first colon may be a user.
pub(crate) fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once(':')?;
    SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)).then_some(scheme)
}

/// The name of an unknown option in this query, for messages.
pub(crate) fn option_name(query: &str, name: &str) -> String {
    let shown = options(query).into_iter().any(|option| option.name.as_deref() == Some(name));
    format!("{:?}", if shown { name } else { HIDDEN })
}

/// A path that an option names, for messages.
pub(crate) fn path(path: &str) -> &str {
    if is_path(path) { path } else { HIDDEN }
}

/// The path of a file or a socket, for messages. Hides what follows a `=`, which may be the value of an option
/// without its `?`. Control characters are escaped.
pub(crate) fn file_path(path: &str) -> String {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    match decoded.split_once('=') {
        Some((begin, _)) => format!("{}={HIDDEN}", begin.escape_debug()),
        None => path.escape_debug().to_string(),
    }
}

/// What the path in the URL of a server stands for.
#[derive(Clone, Copy, PartialEq)]
enum Path {
    Database,
    Master,
    Socket,
}

impl Path {
    fn is_plain(self, path: &str) -> bool {
        let rest = path.strip_prefix('/').unwrap_or(path);
        match self {
            Path::Database => rest.is_empty() || is_number(rest, 5),
            Path::Master => {
                let (master, db) = rest.split_once('/').unwrap_or((rest, ""));
                rest.is_empty() || is_word(master, 64) && (db.is_empty() || is_number(db, 5))
            }
            Path::Socket => rest.is_empty() || is_path(rest),
        }
    }
}

/// What follows `redis:`; `None` if none of it may be shown.
fn server(rest: &str, kind: Path) -> Option<String> {
    let Some(rest) = rest.strip_prefix("//") else {
        return rest.is_empty().then(String::new);
    };
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let (path, query) = split_query(&rest[authority.len()..]);
    // The login may end at a later @.
    if path.contains('@') || query.contains('@') {
        return None;
    }
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((_, hosts)) => ("***@", hosts),
        None => ("", authority),
    };
    // There is one login for all hosts. After a second one, an apparent host may be a password.
    if authority.contains(',') && authority.matches('@').count() > 1 {
        return None;
    }
    let no_hosts = kind == Path::Socket && hosts.is_empty();
    if !no_hosts && !hosts.split(',').all(is_host) {
        return None;
    }
    let path = if kind.is_plain(path) { path } else { "/***" };
    Some(format!("//{login}{hosts}{path}{}", show_query(query)))
}

/// What follows `sqlite:`; `None` if none of it may be shown.
fn file(rest: &str) -> Option<String> {
    let (path, query) = split_query(rest);
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let is_absolute = decoded.strip_prefix("//").unwrap_or(&decoded).starts_with('/');
    let may_be_login = decoded.contains(':') || decoded.contains('@') && !is_absolute;
    if may_be_login || query.contains('@') {
        return None;
    }
    Some(format!("{}{}", file_path(path), show_query(query)))
}

fn split_query(text: &str) -> (&str, &str) {
    text.split_once('?').map_or((text, ""), |(path, query)| (path, query))
}

fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => {
            let is_address = host.bytes().all(|c| c.is_ascii_hexdigit() || b":.".contains(&c));
            (if is_address { "v6" } else { "" }, port)
        }
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port_is_plain = match port.strip_prefix(':') {
        Some(port) => is_number(port, 5),
        None => port.is_empty(),
    };
    is_word(host, 255) && port_is_plain
}

/// Letters, digits, `.`, `_` and `-`.
fn is_word(text: &str, longest: usize) -> bool {
    let plain = |c: u8| c.is_ascii_alphanumeric() || b"._-".contains(&c);
    (1..=longest).contains(&text.len()) && text.bytes().all(plain)
}

fn is_number(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit())
}

/// A path without characters that have a meaning in a URL.
fn is_path(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "/._-+~ ".contains(c))
}

/// What may be shown of an option in a query.
struct Shown {
    name: Option<String>,
    value: Option<String>,
}

/// The options of a query, in order.
fn options(query: &str) -> Vec<Shown> {
    let mut hidden = false;
    let shown = form_urlencoded::parse(query.as_bytes()).map(|(name, value)| {
        let (is_known, value_is_plain) = match &*name {
            "timeout_ms" | "connect_timeout_ms" | "max_data" | "db" | "replicas" => {
                (true, is_number(&value, 20))
            }
            "fsync" => (true, value == "local" || is_number(&value, 20)),
            "namespace" | "synchronous" => (true, is_word(&value, 64)),
            "ca_file" => (true, is_path(&value)),
            "user" | "password" => (true, false),
            _ => (false, false),
        };
        // Shows a misspelt name, unless it may be the rest of a password that has an &.
        let is_name = !value.is_empty()
            && name.len() <= 32
            && name.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
        let show_name = is_known || is_name && !hidden;
        hidden |= !value_is_plain;
        Shown {
            name: show_name.then(|| name.into_owned()),
            value: value_is_plain.then(|| value.into_owned()),
        }
    });
    shown.collect()
}

fn show_query(query: &str) -> String {
    let mut text = String::new();
    for Shown { name, value } in options(query) {
        text.push(if text.is_empty() { '?' } else { '&' });
        match name {
            Some(name) => {
                text.push_str(&name);
                text.push('=');
                text.push_str(value.as_deref().unwrap_or(HIDDEN));
            }
            None => text.push_str(HIDDEN),
        }
        if text.len() > MAX_SHOWN {
            break;
        }
    }
    text
}
