//! Numbers and times for people. What is made here has no user data.

use std::fmt;
use std::time::{Duration, SystemTime};

use leaseq_report::text::{exact_time, rough, timestamp};

/// With a comma between thousands.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Bytes in the largest fitting unit.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1_024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

/// A time of µs.
pub(crate) fn micros(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..10_000 => format!("{:.1} ms", us as f64 / 1e3),
        10_000..1_000_000 => format!("{} ms", us / 1_000),
        1_000_000..60_000_000 => format!("{:.1} s", us as f64 / 1e6),
        _ => rough(Duration::from_micros(us)),
    }
}

/// How far a time is away, for people.
pub(crate) fn distance(time: SystemTime, now: SystemTime) -> String {
    match (now.duration_since(time), time.duration_since(now)) {
        (Ok(ago), _) if ago.as_millis() < 1_000 => "just now".into(),
        (Ok(ago), _) => format!("{} ago", rough(ago)),
        (_, Ok(ahead)) => format!("in {}", rough(ahead)),
        (Err(_), Err(_)) => "just now".into(),
    }
}

/// A time: how far it is away, with the time itself as its title.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    time: SystemTime,
    now: SystemTime,
}

impl Moment {
    pub(crate) fn new(time: SystemTime) -> Moment {
        Moment { time, now: SystemTime::now() }
    }

    /// `2026-11-25 14:30:00`, in UTC.
    pub(crate) fn exact(&self) -> String {
        timestamp(self.time).strftime("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// As HTML, with the time itself.
    pub(crate) fn time(&self) -> String {
        let (iso, exact) = (self.iso(), self.exact());
        format!("<time datetime=\"{iso}\" data-shown=\"exact\">{exact} UTC</time>")
    }

    pub(crate) fn iso(&self) -> String {
        exact_time(self.time)
    }

    pub(crate) fn distance(&self) -> String {
        distance(self.time, self.now)
    }
}

/// As HTML.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (iso, exact, distance) = (self.iso(), self.exact(), self.distance());
        write!(
            f,
            "<time datetime=\"{iso}\" title=\"{exact} UTC\" data-shown=\"distance\">{distance}</time>"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_sizes_are_readable() {
        for (n, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(number(n), text);
        }
        assert_eq!(size(1_023), "1023 B");
        assert_eq!(size(8 << 20), "8.0 MiB");
        assert_eq!(micros(1_500), "1.5 ms");
        assert_eq!(micros(61_000_000), "1m01s");
    }

    #[test]
    fn times_say_how_far_they_are_away() {
        let now = SystemTime::now();
        let s = Duration::from_secs;
        assert_eq!(distance(now, now), "just now");
        assert_eq!(distance(now - s(61), now), "1m01s ago");
        assert_eq!(distance(now + s(3_600), now), "in 1h00m");
    }
}
