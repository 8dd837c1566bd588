//! A histogram of bounded size and bounded error.

use std::collections::BTreeMap;

/// Counts values in buckets whose width is an eighth of their lower bound, so a value read from it is within 7 % of the
/// exact one. Values below 16 are exact. Two histograms can be merged, whoever made them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram(BTreeMap<u16, u64>);

/// Values below this have a bucket each.
const EXACT: u64 = 16;
/// Buckets in each further power of two.
const PARTS: u16 = 8;
impl Histogram {
    /// An empty one.
    pub fn new() -> Self {
        Histogram::default()
    }

    /// Counts a value.
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Counts a value `count` times.
    pub fn record_many(&mut self, value: u64, count: u64) {
        self.add(bucket(value), count);
    }

    /// Counts what the other one has counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (&bucket, &count) in &other.0 {
            self.add(bucket, count);
        }
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The value below or at which lies this part of all values, from 0 to 1: 0.5 for the median. `None` if there is no
    /// value.
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let count = self.count();
        let rank = ((part.clamp(0.0, 1.0) * count as f64).ceil() as u64).max(1);
        let mut seen = 0_u64;
        let (found, _) = self.0.iter().find(|(_, count)| {
            seen = seen.saturating_add(**count);
            seen >= rank
        })?;
        Some(middle(*found))
    }

    /// Each value that it has counted, as it is read from it, and how often, in the order of the values.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(bucket, count)| (middle(*bucket), *count))
    }

    fn add(&mut self, bucket: u16, count: u64) {
        if count > 0 {
            let stored = self.0.entry(bucket).or_default();
            *stored = stored.saturating_add(count);
        }
    }
}

impl Extend<(u64, u64)> for Histogram {
    /// Counts values, each as often as the second number says.
    fn extend<T: IntoIterator<Item = (u64, u64)>>(&mut self, values: T) {
        values.into_iter().for_each(|(value, count)| self.record_many(value, count));
    }
}

fn bucket(value: u64) -> u16 {
    if value < EXACT {
        return value as u16;
    }
    let power = value.ilog2() as u16;
    let part = (value >> (power - 3)) as u16 & (PARTS - 1);
    EXACT as u16 + (power - 4) * PARTS + part
}

fn middle(bucket: u16) -> u64 {
    let Some(above) = bucket.checked_sub(EXACT as u16) else {
        return u64::from(bucket);
    };
    let (power, part) = (above / PARTS + 4, u64::from(above % PARTS));
    let width = 1_u64 << (power - 3);
    (1_u64 << power) + part * width + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_within_seven_percent() {
        let values =
            (0..64).flat_map(|power| [0, 1, 3].map(|more| (1_u64 << power) + (more << power) / 4));
        for value in values.chain([0, 5, 15, 16, 17, u64::MAX]) {
            let mut histogram = Histogram::new();
            histogram.record(value);
            let read = histogram.quantile(0.5).unwrap();
            assert!(read.abs_diff(value) as f64 <= value as f64 * 0.07, "{value} read as {read}");
            assert_eq!(bucket(read), bucket(value));
            assert!(bucket(value) < 500);
        }
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let mut histogram = Histogram::new();
        assert_eq!((histogram.quantile(0.5), histogram.count()), (None, 0));
        histogram.extend((1..=10).map(|value| (value, 1)));
        let quantiles =
            [0.0, 0.1, 0.5, 0.51, 0.99, 1.0].map(|part| histogram.quantile(part).unwrap());
        assert_eq!(quantiles, [1, 1, 5, 6, 10, 10]);
    }

    #[test]
    fn merging_and_storing_keep_every_count() {
        let (mut one, mut other) = (Histogram::new(), Histogram::new());
        one.extend([(3, 2), (1_000_000, 5)]);
        other.extend([(3, 1), (7, 0)]);
        one.merge(&other);
        assert_eq!(one.count(), 8);
        let mut stored = Histogram::new();
        stored.extend(one.values());
        assert_eq!(stored, one);
        assert_eq!(one.values().next(), Some((3, 3)));
        one.record_many(3, u64::MAX);
        assert_eq!(one.count(), u64::MAX);
    }
}
