//! Showing a URL without what may be secret in it.
//!
//! Shown is only what is known to be harmless. Whatever can be read in two ways is hidden: in a URL
//! that was not encoded properly, a password may reach further than it seems.

use percent_encoding::percent_decode_str;
use url::form_urlencoded;

const HIDDEN: &str = "***";
/// Most characters that are shown.
const MAX_SHOWN: usize = 256;

/// Schemes that are shown: those of the engines, and what people take for one of them.
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

/// The URL as it may be shown to people and written to logs.
///
/// User and password, the values of all options that are not known to be harmless, and everything
/// that can be read in two ways become `***`. That includes a lone user, as in
/// `redis://secret@host`, because it is often a password. Control characters are escaped, and more
/// than 256 characters are cut off. What is no URL at all becomes `***`.
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

/// The scheme of the URL, if it may be shown. What stands before the first colon may be a user.
pub(crate) fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once(':')?;
    SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)).then_some(scheme)
}

/// The name of an option in this query that no engine knows, for messages.
pub(crate) fn option_name(query: &str, name: &str) -> String {
    let shown = options(query).into_iter().any(|option| option.name.as_deref() == Some(name));
    format!("{:?}", if shown { name } else { HIDDEN })
}

/// A path that an option names, for messages.
pub(crate) fn path(path: &str) -> &str {
    if is_path(path) { path } else { HIDDEN }
}

/// The path of a file or a socket, for messages: without what follows a `=`, which may be an option
/// that belongs behind a `?`. Control characters are escaped.
pub(crate) fn file_path(path: &str) -> String {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    match decoded.split_once('=') {
        Some((begin, _)) => format!("{}={HIDDEN}", begin.escape_debug()),
        None => path.escape_debug().to_string(),
    }
}

/// What the path of a server's URL says.
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
    // The login may end at an @ further on.
    if path.contains('@') || query.contains('@') {
        return None;
    }
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((_, hosts)) => ("***@", hosts),
        None => ("", authority),
    };
    // One login is for all hosts: behind a second one, what seems to be a host may be a password.
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

/// A path with nothing in it that means something in a URL.
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
            "timeout_ms" | "connect_timeout_ms" | "max_data" | "db" => {
                (true, is_number(&value, 20))
            }
            "namespace" | "synchronous" => (true, is_word(&value, 64)),
            "ca_file" => (true, is_path(&value)),
            "user" | "password" => (true, false),
            _ => (false, false),
        };
        // A misspelt name is shown, unless it may be the rest of a password with an & in it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_harmless_is_shown() {
        for url in [
            "",
            "redis:",
            "redis://h",
            "redis://h:1/0",
            "rediss://[::1]:6379/3?timeout_ms=1500&namespace=x.y",
            "redis+unix:///run/redis/redis.sock?db=2",
            "redis+sentinel://a,b:5/main/4?connect_timeout_ms=50",
            "redis+cluster://a:1,b-c.example:2/?max_data=9",
            "rediss://h?ca_file=/etc/ssl/ca.pem",
            "sqlite:a.db",
            "sqlite:///var/lib/app@2/a%20b.db?synchronous=normal",
            "sqlite:Aufträge.db",
            "memory:",
        ] {
            assert_eq!(redact_url(url), url);
        }
    }

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        for (url, shown) in [
            ("redis://u:secret@h:1/0", "redis://***@h:1/0"),
            ("redis://:secret@h", "redis://***@h"),
            ("redis://secret@h", "redis://***@h"),
            ("redis://u:se@cret@h", "redis://***@h"),
            ("redis://u:se/cret@h", "redis:***"),
            ("redis://u:se?cret@h", "redis:***"),
            ("redis://u:se#cret@h", "redis:***"),
            ("redis://u:se:cret@h", "redis://***@h"),
            ("redis://u:secret", "redis:***"),
            ("redis://u:secret/0", "redis:***"),
            ("redis://u%3Asecret%40h", "redis:***"),
            ("redis:u:secret@h", "redis:***"),
            ("redis:%2F%2Fu:secret@h", "redis:***"),
            ("redis://h/secret", "redis://h/***"),
            ("redis://h/0#secret", "redis://h/***"),
            ("redis+cluster://u:secret@a:1,u:secret@b:2", "redis+cluster:***"),
            ("redis+sentinel://u:secret@a:1,u:x@secret:2/m", "redis+sentinel:***"),
            ("redis+cluster://u:secret@a:1,u:secret", "redis+cluster:***"),
            ("redis+sentinel://a:1,u:secret@b:2/m", "redis+sentinel://***@b:2/m"),
            ("redis+sentinel://a:1/m/secret", "redis+sentinel://a:1/***"),
            ("redis+unix://u:secret@/run/r.sock", "redis+unix://***@/run/r.sock"),
            ("redis+unix:///u:secret@h", "redis+unix:***"),
            ("redis://h?password=secret", "redis://h?password=***"),
            ("redis://h?user=u&password=a@secret", "redis:***"),
            ("redis://h?%70assword=secret&db=1", "redis://h?password=***&db=1"),
            ("redis://h?PASSWORD=secret", "redis://h?***"),
            ("redis://h?pasword=secret", "redis://h?pasword=***"),
            ("redis://h?passwort=secret&timeout_ms=9", "redis://h?passwort=***&timeout_ms=9"),
            ("redis://h?password=a&secret=x", "redis://h?password=***&***"),
            ("redis://h?secret", "redis://h?***"),
            ("redis://h?namespace=a;password=secret", "redis://h?namespace=***"),
            ("redis://h?timeout_ms=secret", "redis://h?timeout_ms=***"),
            ("redis://h?ca_file=/a?password=secret", "redis://h?ca_file=***"),
            ("sqlite:a.db?password=secret", "sqlite:a.db?password=***"),
            ("sqlite:a.db?key=secret#secret", "sqlite:a.db?key=***"),
            ("sqlite:/a.db&password=secret", "sqlite:/a.db&password=***"),
            ("sqlite:/a.db;password%3Dsecret", "sqlite:/a.db;password=***"),
            ("sqlite:/a.db%3Fpassword=secret&db=1", "sqlite:/a.db?password=***"),
            ("redis+unix:///tmp/s&password=secret", "redis+unix:///***"),
            ("redis+unix:///tmp/s%3Fpassword=secret", "redis+unix:///***"),
            ("sqlite://u:secret@h/x", "sqlite:***"),
            ("sqlite://secret@h/x", "sqlite:***"),
            ("sqlite:secret@h", "sqlite:***"),
            ("memory:secret:x", "memory:***"),
            ("http://u:secret@h", "http:***"),
            ("valkey://secret@h", "valkey:***"),
            ("u:secret@h", "***"),
            ("secret@h", "***"),
            ("secret", "***"),
            ("h:6379", "***"),
            (" redis://u:secret@h", "***"),
            ("\u{7f16}:secret@h", "***"),
        ] {
            assert_eq!(redact_url(url), shown, "{url}");
        }
    }

    #[test]
    fn what_is_shown_is_short_and_has_no_control_characters() {
        let shown = redact_url("sqlite:a\nb\u{1b}[31m\u{202e}.db");
        assert_eq!(shown, "sqlite:a\\nb\\u{1b}[31m\\u{202e}.db");
        for long in ["x", "h,", "a=1&", "\n", "é"] {
            for start in ["", "redis://", "redis://h?", "sqlite:", "redis+unix:///"] {
                let shown = redact_url(&format!("{start}{}", long.repeat(100_000)));
                assert!(shown.chars().count() <= MAX_SHOWN + 1, "{shown}");
            }
        }
    }

    #[test]
    fn no_accident_uncovers_a_secret() {
        // No host and no path in a URL has a ! in it: what looks like one, and stands where one does,
        // is shown. A file of the embedded engine may have any name.
        let urls = [
            "redis://user:hunter2!@h:6379/0?timeout_ms=1500&namespace=x",
            "rediss://:hunter2!@[::1]:6379/3?ca_file=/etc/ca.pem&max_data=9",
            "redis+unix:///run/redis.sock?db=2&user=u&password=hunter2!",
            "redis+sentinel://u:hunter2!@a,u:hunter2!@b:5/main/4?connect_timeout_ms=50",
            "redis+cluster://user:hunter2%21@a:1,b:2?pasword=hunter2%21",
            "redis://h?%70ass=hunter2%21&token=hunter2!",
            "redis:user:hunter2!@h",
            "user:hunter2!@h",
        ];
        leaseq_test_support::with_accidents(&urls, 100_000, |url| {
            if url.strip_prefix("sqlite:").is_some_and(|file| !file.contains([':', '@'])) {
                return;
            }
            let shown = redact_url(url);
            let decoded = percent_decode_str(&shown).decode_utf8_lossy();
            assert!(!shown.contains("hunter2!"), "{url:?}: {shown}");
            assert!(!decoded.contains("hunter2!"), "{url:?}: {shown}");
            assert!(!shown.chars().any(char::is_control), "{url:?}: {shown:?}");
        });
    }
}
