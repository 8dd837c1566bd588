//! Where a request comes from: its host, and the page that sent it.

use axum::http::{HeaderMap, header};
use url::Url;

/// Headers that a proxy adds.
const FORWARDED: [&str; 6] =
    ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];

/// Whether a proxy has forwarded the request.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    FORWARDED.iter().any(|name| headers.contains_key(*name))
}

/// The host that the request names.
fn host(headers: &HeaderMap) -> Option<Url> {
    Url::parse(&format!("http://{}/", one(headers, header::HOST.as_str())?)).ok()
}

/// Whether the host is that of this address, or a number, which no owner of a name can point elsewhere.
pub(crate) fn is_of(headers: &HeaderMap, public: &Url) -> bool {
    let Some(url) = host(headers) else { return false };
    match url.host() {
        Some(url::Host::Domain(name)) => public.host_str() == Some(name),
        host => host.is_some(),
    }
}

/// Whether the host is one of this machine. Another name may lead here too, if a page of its owner has told the browser
/// so (DNS rebinding).
pub(crate) fn is_local(headers: &HeaderMap) -> bool {
    let Some(url) = host(headers) else { return false };
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether a page of the console has sent the request: the browser says so. Browsers that send no `Sec-Fetch-Site`, as
/// all do over http to another machine, send `Origin` with each POST.
pub(crate) fn is_own(headers: &HeaderMap, public: Option<&Url>) -> bool {
    match headers.get("sec-fetch-site") {
        Some(site) => site == "same-origin",
        None => one(headers, header::ORIGIN.as_str()).is_some_and(|origin| match public {
            Some(url) => origin == url.origin().ascii_serialization(),
            None => one(headers, header::HOST.as_str()).is_some_and(|host| {
                let host = host.to_ascii_lowercase();
                origin == format!("http://{host}") || origin == format!("https://{host}")
            }),
        }),
    }
}

/// The value of a header that is there once.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_pages_of_the_console_may_send_changes() {
        let host = ("host", "box:8080");
        for (own, pairs, public) in [
            (true, &[host, ("sec-fetch-site", "same-origin")][..], None),
            (false, &[host, ("sec-fetch-site", "same-site")], None),
            (false, &[host, ("sec-fetch-site", "none")], None),
            (false, &[host, ("sec-fetch-site", "cross-site"), ("origin", "http://box:8080")], None),
            (true, &[host, ("origin", "http://box:8080")], None),
            (true, &[host, ("origin", "https://box:8080")], None),
            (false, &[host, ("origin", "http://box")], None),
            (false, &[host, ("origin", "null")], None),
            (false, &[host, ("origin", "http://box:8080.evil.example")], None),
            (false, &[host], None),
            (true, &[host, ("origin", "https://q.example")], Some("https://q.example/a/")),
            (false, &[host, ("origin", "http://q.example")], Some("https://q.example/a/")),
            (false, &[host, ("origin", "http://box:8080")], Some("https://q.example/a/")),
        ] {
            let public = public.map(|url| url.parse().unwrap());
            assert_eq!(is_own(&headers(pairs), public.as_ref()), own, "{pairs:?} {public:?}");
        }
    }

    #[test]
    fn no_other_name_than_the_public_one_is_served() {
        let public = "https://queues.example.com/a/".parse().unwrap();
        for (own, host) in [
            (true, "queues.example.com"),
            (true, "QUEUES.example.com:8443"),
            (true, "10.0.0.1:8686"),
            (true, "[fd00::1]:8686"),
            (false, "example.com"),
            (false, "queues.example.com.evil.example"),
            (false, "evil.example:443"),
            (false, "a@b@c"),
            (false, ""),
        ] {
            assert_eq!(is_of(&headers(&[("host", host)]), &public), own, "{host}");
        }
        assert!(!is_of(&headers(&[]), &public));
    }

    #[test]
    fn hosts_of_this_machine_are_known() {
        for (local, host) in [
            (true, "localhost:8686"),
            (true, "LOCALHOST"),
            (true, "127.0.0.1:1"),
            (true, "[::1]:8686"),
            (false, "evil.example"),
            (false, "localhost.evil.example"),
            (false, "127.0.0.1.evil.example"),
            (false, "10.0.0.1"),
            (false, ""),
        ] {
            assert_eq!(is_local(&headers(&[("host", host)])), local, "{host}");
        }
    }
}
