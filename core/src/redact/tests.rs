//! What is shown of a URL, and what is not.

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
        "redis://h?replicas=1&fsync=local",
        "redis://h?fsync=2",
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
        ("redis://h?replicas=secret&fsync=secret", "redis://h?replicas=***&fsync=***"),
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
    // Hosts and paths are shown, so the password has a `!`, which they cannot have. A file of the embedded
    // engine may have any name.
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
