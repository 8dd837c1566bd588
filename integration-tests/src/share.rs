//! One part of a long test matrix each day. After as many days as there are parts, the whole matrix has
//! run.

use std::num::NonZeroU64;
use std::time::{SystemTime, UNIX_EPOCH};

/// Which part.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Share {
    /// Run only one of this many parts of the matrix, chosen by the date
    #[arg(long, default_value = "1")]
    parts: NonZeroU64,
    /// The date as days since 1970-01-01, instead of today
    #[arg(long, default_value_t = today())]
    day: u64,
}

fn today() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400)
}

impl Share {
    /// Whether the entry with this number belongs to the part.
    pub(crate) fn has(&self, number: usize) -> bool {
        (number as u64 + self.day).is_multiple_of(self.parts.get())
    }

    /// A readable description of the part; `None` if everything runs.
    pub(crate) fn note(&self) -> Option<String> {
        let Share { parts, day } = self;
        (parts.get() > 1).then(|| {
            format!("one part of {parts}: --parts {parts} --day {day}; `make nightly` plays all")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_has_its_day() {
        let parts = NonZeroU64::new(3).unwrap();
        for number in 0..10 {
            let days = (20_000..20_003).filter(|day| Share { parts, day: *day }.has(number));
            assert_eq!(days.count(), 1, "{number}");
        }
        let all = Share { parts: NonZeroU64::MIN, day: 7 };
        assert!((0..10).all(|number| all.has(number)));
        assert_eq!(all.note(), None);
    }
}
