//! Ids, data and times as text, for people and for programs.

use std::time::SystemTime;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use leaseq_report::duration;
pub(crate) use leaseq_report::text::{exact_time, id, rough, size, timestamp, unescape, whole_ms};
use serde_json::{Map, Value};

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

/// Local time, for people.
pub(crate) fn local_time(time: SystemTime) -> String {
    timestamp(time).to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Local time with milliseconds, for people.
pub(crate) fn local_time_ms(time: SystemTime) -> String {
    timestamp(time).to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S%.3f").to_string()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown() {
        let time = read_time("2026-11-25T14:30:00.25+01:00").unwrap();
        assert_eq!(exact_time(time), "2026-11-25T13:30:00.250Z");
        let before = read_time("6h").unwrap();
        let ago = SystemTime::now().duration_since(before).unwrap();
        assert_eq!(ago.as_secs() / 3600, 6);
        assert!(read_time("yesterday").is_err());
    }
}
