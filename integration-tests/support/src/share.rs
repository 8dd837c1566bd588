//! One part of a long test matrix each day. After as many days as there are parts, the whole matrix has
//! run.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU64;
use std::time::{SystemTime, UNIX_EPOCH};

/// Which part.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// How many parts there are.
    pub parts: NonZeroU64,
    /// The date that chooses one, as days since 1970-01-01.
    pub day: u64,
}

impl Share {
    /// Today's part of as many as the variable `LEASEQ_PARTS` says; everything without it.
    ///
    /// # Panics
    /// If the variable is not a positive number.
    pub fn from_environment() -> Share {
        let parts = std::env::var("LEASEQ_PARTS").ok();
        let parts = parts.map(|parts| parts.parse().expect("LEASEQ_PARTS is a positive number"));
        Share { parts: parts.unwrap_or(NonZeroU64::MIN), day: Share::today() }
    }

    /// Days since 1970-01-01.
    pub fn today() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400)
    }

    /// Whether the entry with this number belongs to the part.
    pub fn has(&self, number: usize) -> bool {
        (number as u64).wrapping_add(self.day).is_multiple_of(self.parts.get())
    }

    /// Whether the test with this name belongs to the part. Prints if it does not.
    pub fn has_named(&self, name: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let has = self.has((hasher.finish() >> 32) as usize);
        if !has {
            println!(
                "{name}: on another day (one part of {}); `make nightly` runs all",
                self.parts
            );
        }
        has
    }

    /// A readable description of the part; `None` if everything runs.
    pub fn note(&self) -> Option<String> {
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
        let days = |has: &dyn Fn(Share) -> bool| {
            (20_000..20_003).filter(|day| has(Share { parts, day: *day })).count()
        };
        for number in 0..10 {
            assert_eq!(days(&|share| share.has(number)), 1, "{number}");
            assert_eq!(days(&|share| share.has_named(&number.to_string())), 1, "{number}");
        }
        let all = Share { parts: NonZeroU64::MIN, day: 7 };
        assert!((0..10).all(|number| all.has(number)));
        assert_eq!(all.note(), None);
    }
}
