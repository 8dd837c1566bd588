//! Durations as text: `500ms`, `1s`, `10m`, `6h`, `7d`.

use std::time::Duration;

use crate::secrets::shown;

const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads a whole number and a unit: ms, s, m, h or d.
pub fn read(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let ms = UNITS.iter().find(|(name, _)| *name == unit.trim()).map(|(_, ms)| *ms);
    match (number.parse::<u64>(), ms) {
        (Ok(number), Some(ms)) => number.checked_mul(ms).map(Duration::from_millis),
        _ => None,
    }
    .ok_or_else(|| format!("{:?} is no duration: a whole number and ms, s, m, h or d", shown(text)))
}

/// The same in the largest unit that shows it exactly.
pub fn show(duration: Duration) -> String {
    let ms = duration.as_millis() as u64;
    let unit = UNITS.iter().rev().find(|(_, size)| ms > 0 && ms.is_multiple_of(*size));
    unit.map_or_else(|| format!("{ms}ms"), |(name, size)| format!("{}{name}", ms / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_shown() {
        for (text, ms) in [("250ms", 250), ("1s", 1_000), ("90s", 90_000), ("6h", 21_600_000)] {
            assert_eq!(read(text).unwrap(), Duration::from_millis(ms));
            assert_eq!(show(Duration::from_millis(ms)), text);
        }
        assert_eq!(show(Duration::ZERO), "0ms");
        for bad in ["", "1", "s", "-1s", "1.5s", "1y", "99999999999999999999s", "1 s s"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
