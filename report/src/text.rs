//! Ids, times and durations as text, which people read and programs read back.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use leaseq::{FollowUp, On};

use crate::escape::escaped_bytes;

/// An id as one line, from which [`unescape`] gives it back.
pub fn id(bytes: &[u8]) -> String {
    match bytes.contains(&b'\\') {
        false => escaped_bytes(bytes).into_owned(),
        true => {
            let parts: Vec<_> = bytes.split(|byte| *byte == b'\\').map(escaped_bytes).collect();
            parts.join("\\\\")
        }
    }
}

/// The bytes of an id as [`id`] shows it. `None` if no id is shown so.
pub fn unescape(text: &str) -> Option<Vec<u8>> {
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

/// A time that can be written. What is out of range is the nearest one that is not.
pub fn timestamp(time: SystemTime) -> Timestamp {
    let ms = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    Timestamp::from_millisecond(i64::try_from(ms).unwrap_or(i64::MAX)).unwrap_or(Timestamp::MAX)
}

/// RFC 3339, UTC, with milliseconds.
pub fn exact_time(time: SystemTime) -> String {
    format!("{:.3}", timestamp(time))
}

/// A duration for people: the two largest units.
pub fn rough(duration: Duration) -> String {
    let s = duration.as_secs();
    match s {
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{s}s"),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        3600..86_400 => format!("{}h{:02}m", s / 3600, s % 3600 / 60),
        _ => format!("{}d{:02}h", s / 86_400, s % 86_400 / 3600),
    }
}

/// A follow-up for people: which end adds what, and where.
pub fn follow_up(follow_up: &FollowUp) -> String {
    let on = match follow_up.on() {
        On::Completed => "completed",
        On::Dead => "dead",
        On::Ended => "ended",
    };
    let queue = follow_up.queue().map_or(String::new(), |queue| format!(" to queue {queue}"));
    format!("when {on}, adds {}{queue}", id(follow_up.item().id()))
}

/// In whole milliseconds.
pub fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A size for people: `312 MiB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{} MiB", bytes >> 20),
        _ => format!("{}.{} GiB", bytes >> 30, (bytes >> 20) % 1024 * 10 / 1024),
    }
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
    fn durations_are_shown_roughly() {
        for (s, text) in [(59, "59s"), (61, "1m01s"), (3_660, "1h01m"), (90_000, "1d01h")] {
            assert_eq!(rough(Duration::from_secs(s)), text);
        }
        assert_eq!(rough(Duration::from_millis(999)), "999ms");
    }
}
