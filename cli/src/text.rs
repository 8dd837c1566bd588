//! Ids, data and times as text, for people and for programs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use leaseq_report::{duration, escaped_bytes};
use serde_json::{Map, Value};

/// An id as one line, from which [`unescape`] gives it back.
pub(crate) fn id(bytes: &[u8]) -> String {
    match bytes.contains(&b'\\') {
        false => escaped_bytes(bytes).into_owned(),
        true => {
            let parts: Vec<_> = bytes.split(|byte| *byte == b'\\').map(escaped_bytes).collect();
            parts.join("\\\\")
        }
    }
}

/// The bytes of an id as [`id`] shows it. `None` if no id is shown so.
pub(crate) fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut units: Vec<u16> = Vec::new();
    let mut rest = text;
    let end = |units: &mut Vec<u16>, bytes: &mut Vec<u8>| -> Option<()> {
        bytes.extend(String::from_utf16(&std::mem::take(units)).ok()?.bytes());
        Some(())
    };
    while let Some(c) = rest.chars().next() {
        let escape = rest.strip_prefix('\\');
        if let Some(hex) = escape.and_then(|escape| escape.strip_prefix('u')) {
            units.push(u16::from_str_radix(hex.get(..4)?, 16).ok()?);
            rest = &hex[4..];
            continue;
        }
        end(&mut units, &mut bytes)?;
        if let Some(escape) = escape {
            if let Some(hex) = escape.strip_prefix('x') {
                bytes.push(u8::from_str_radix(hex.get(..2)?, 16).ok()?);
                rest = &hex[2..];
            } else {
                rest = escape.strip_prefix('\\')?;
                bytes.push(b'\\');
            }
            continue;
        }
        bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
        rest = &rest[c.len_utf8()..];
    }
    end(&mut units, &mut bytes)?;
    Some(bytes)
}

/// Puts bytes under this name, or as base64 under `NAME_base64` if they are not text.
pub(crate) fn put_bytes(object: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => object.insert(name.into(), text.into()),
        Err(_) => object.insert(format!("{name}_base64"), BASE64_STANDARD.encode(bytes).into()),
    };
}

/// Reads what [`put_bytes`] has put. `None`: there is neither.
pub(crate) fn get_bytes(
    object: &Map<String, Value>,
    name: &str,
) -> Result<Option<Vec<u8>>, String> {
    let coded = format!("{name}_base64");
    match (object.get(name), object.get(&coded)) {
        (None | Some(Value::Null), None) => Ok(None),
        (Some(Value::String(text)), None) => Ok(Some(text.clone().into_bytes())),
        (None, Some(Value::String(text))) => match BASE64_STANDARD.decode(text) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => Err(format!("{coded}: {error}")),
        },
        _ => Err(format!("{name} is not one text")),
    }
}

fn timestamp(time: SystemTime) -> Timestamp {
    let ms = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    Timestamp::from_millisecond(i64::try_from(ms).unwrap_or(i64::MAX)).unwrap_or(Timestamp::MAX)
}

/// RFC 3339, UTC, with milliseconds.
pub(crate) fn exact_time(time: SystemTime) -> String {
    format!("{:.3}", timestamp(time))
}

/// Local time, for people.
pub(crate) fn local_time(time: SystemTime) -> String {
    timestamp(time).to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A time: RFC 3339, or how long ago, such as `6h`.
pub(crate) fn read_time(text: &str) -> Result<SystemTime, String> {
    if let Ok(ago) = duration::read(text) {
        let now = SystemTime::now();
        return now.checked_sub(ago).ok_or_else(|| format!("{text} ago is before 1970"));
    }
    let read: Result<Timestamp, _> = text.parse();
    read.map(SystemTime::from).map_err(|_| {
        "no time: write 2026-11-25T14:30:00Z, or how long ago: 500ms, 30s, 10m, 6h, 7d".to_owned()
    })
}

/// A duration for people: the two largest units.
pub(crate) fn rough(duration: Duration) -> String {
    let s = duration.as_secs();
    match s {
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{s}s"),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        3600..86_400 => format!("{}h{:02}m", s / 3600, s % 3600 / 60),
        _ => format!("{}d{:02}h", s / 86_400, s % 86_400 / 3600),
    }
}

pub(crate) fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_can_be_read_from_what_is_shown() {
        for bytes in [
            &b"plain"[..],
            b"a\\nb",
            b"\\\\",
            b"\\u0041\\x41",
            b"\xff\x00\x1b[2J",
            "ä\u{202e}\u{e0041}\u{1f600}".as_bytes(),
            b"\xf0\x9f\\",
        ] {
            let shown = id(bytes);
            assert!(!shown.contains(|c: char| c.is_control()), "{shown}");
            assert_eq!(unescape(&shown).as_deref(), Some(bytes), "{shown}");
        }
        for wrong in ["\\", "\\q", "\\x4", "\\xgg", "\\u12", "\\ud800", "\\uä000"] {
            assert_eq!(unescape(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_are_read_and_shown() {
        let time = read_time("2026-11-25T14:30:00.25+01:00").unwrap();
        assert_eq!(exact_time(time), "2026-11-25T13:30:00.250Z");
        let before = read_time("6h").unwrap();
        let ago = SystemTime::now().duration_since(before).unwrap();
        assert_eq!(ago.as_secs() / 3600, 6);
        assert!(read_time("yesterday").is_err());
        for (s, text) in [(59, "59s"), (61, "1m01s"), (3_660, "1h01m"), (90_000, "1d01h")] {
            assert_eq!(rough(Duration::from_secs(s)), text);
        }
        assert_eq!(rough(Duration::from_millis(999)), "999ms");
    }
}
