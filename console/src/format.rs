//! Numbers and times for people. What is made here has no user data.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leaseq_report::text::{exact_time, rough, timestamp};
use serde::{Serialize, Serializer};

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

/// A duration in whole seconds, as scripts write it.
fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        0 => "0s".into(),
        s => rough(Duration::from_secs(s)),
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

    /// The second that is nearest.
    pub(crate) fn to_second(self) -> Moment {
        let time = UNIX_EPOCH + Duration::from_secs((self.ms() + 500) / 1_000);
        Moment { time, ..self }
    }

    pub(crate) fn ms(&self) -> u64 {
        let since = self.time.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn shown(&self, shown: Shown) -> String {
        match (shown, self.time.duration_since(self.now)) {
            (Shown::Left, Ok(left)) if !left.is_zero() => seconds(left),
            (Shown::Left, _) => format!("expired {}", self.distance()),
            (Shown::For, _) => seconds(self.now.duration_since(self.time).unwrap_or_default()),
            (Shown::Distance, _) => self.distance(),
        }
    }
}

/// How a script shows a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// How far away it is.
    Distance,
    /// What is left until then.
    Left,
    /// What has passed since then.
    For,
}

/// As HTML, a time that a script renews with the value of this name. `None`: nothing is shown.
pub(crate) fn bound(time: Option<&Moment>, name: &str, shown: Shown) -> String {
    let how = match shown {
        Shown::Distance => "distance",
        Shown::Left => "left",
        Shown::For => "for",
    };
    let Some(time) = time else {
        return format!("<time data-time=\"{name}\" data-shown=\"{how}\"></time>");
    };
    let (iso, exact, text) = (time.iso(), time.exact(), time.shown(shown));
    let class = if text.starts_with("expired") { " class=\"badge bad\"" } else { "" };
    format!(
        "<time data-time=\"{name}\" datetime=\"{iso}\" title=\"{exact} UTC\" data-shown=\"{how}\"{class}>{text}</time>"
    )
}

/// Scripts get it in ms since 1970.
impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.ms())
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
    fn times_that_scripts_renew_have_their_names() {
        let at = |time| Moment { time, now: UNIX_EPOCH + Duration::from_secs(100) };
        let after = |s| UNIX_EPOCH + Duration::from_secs(s);
        for (time, shown, text) in [
            (after(161), Shown::Left, "1m01s"),
            (after(98), Shown::Left, "expired 2s ago"),
            (after(100), Shown::Left, "expired just now"),
            (after(98), Shown::For, "2s"),
            (after(200), Shown::For, "0s"),
            (after(98), Shown::Distance, "2s ago"),
        ] {
            let html = bound(Some(&at(time)), "ends", shown);
            assert!(
                html.starts_with("<time data-time=\"ends\" datetime=\"1970-01-01T00:0"),
                "{html}"
            );
            assert!(html.ends_with(&format!(">{text}</time>")), "{html}");
            assert_eq!(html.contains("badge bad"), text.starts_with("expired"), "{html}");
        }
        assert!(!bound(None, "ends", Shown::Left).contains("datetime"));
        assert_eq!(serde_json::to_string(&at(after(98))).unwrap(), "98000");
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
