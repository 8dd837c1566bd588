//! Rates: how many leases a queue, or each of its keys, gives in a time.

use std::time::Duration;

use crate::options::{MAX_RATE, MAX_RATE_PERIOD, MIN_RATE_PERIOD, check_duration};
use crate::{Error, Result};

/// How many leases a queue, or each of its keys, gives: at most `burst + count × t / period` in any time t. See
/// [`SettingsChange::rate`](crate::SettingsChange::rate) and [`key_rate`](crate::SettingsChange::key_rate).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rate {
    /// How many leases become allowed in each period, 1 to 1,000,000, evenly distributed over it.
    pub count: u32,
    /// The period, in whole milliseconds: 1 ms to 31 days.
    pub period: Duration,
    /// How many leases are allowed at once if there were none for a while, 1 to 1,000,000.
    pub burst: u32,
}

impl Rate {
    /// `count` leases in each period, and as many at once.
    pub fn new(count: u32, period: Duration) -> Self {
        Rate { count, period, burst: count }
    }

    /// How many leases are allowed at once, 1 to 1,000,000. 1: they are evenly distributed.
    pub fn burst(mut self, burst: u32) -> Self {
        self.burst = burst;
        self
    }

    pub(crate) fn validate(self) -> Result<StoredRate> {
        let check = |what: &str, value: u32| match (1..=MAX_RATE).contains(&u64::from(value)) {
            true => Ok(value.into()),
            false => {
                let most = MAX_RATE;
                Err(Error::invalid(format_args!("{what} of {value} is not between 1 and {most}")))
            }
        };
        Ok(StoredRate {
            count: check("a rate", self.count)?,
            period: check_duration(
                "the period of a rate",
                self.period,
                MIN_RATE_PERIOD,
                MAX_RATE_PERIOD,
            )?,
            burst: check("the burst of a rate", self.burst)?,
        })
    }
}

/// A rate as it is stored: numbers within their limits.
///
/// A meter says how much of it is used up. Each lease adds `period` to it, and each ms takes `count` from it; it never
/// exceeds `burst × period`, which is less than 2^53. So a rate is counted exactly, in whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredRate {
    pub(crate) count: u64,
    pub(crate) period: u64,
    pub(crate) burst: u64,
}

impl From<StoredRate> for Rate {
    fn from(rate: StoredRate) -> Rate {
        let period = Duration::from_millis(rate.period);
        Rate::new(rate.count as u32, period).burst(rate.burst as u32)
    }
}

impl StoredRate {
    /// What is stored of a rate; zeros for none.
    pub(crate) fn numbers(rate: Option<StoredRate>) -> [u64; 3] {
        rate.map_or([0; 3], |StoredRate { count, period, burst }| [count, period, burst])
    }

    /// What is used up when no lease is allowed.
    pub(crate) fn most(self) -> u64 {
        self.burst * self.period
    }

    /// What is used up now, if it was `used` some time ago.
    pub(crate) fn used(self, used: u64, passed_ms: u64) -> u64 {
        used.saturating_sub(passed_ms.saturating_mul(self.count))
    }

    /// How many leases are allowed now.
    pub(crate) fn allowed(self, used: u64) -> u64 {
        self.most().saturating_sub(used) / self.period
    }

    /// When the next lease is allowed; `None`: one is allowed now.
    pub(crate) fn opens(self, used: u64, now: u64) -> Option<u64> {
        let over = used.saturating_sub(self.most() - self.period);
        (over > 0).then(|| now + over.div_ceil(self.count))
    }

    /// What of this rate is used up if so much of an earlier one is: as many leases, and part of one.
    pub(crate) fn converted(self, used: u64, before: StoredRate) -> u64 {
        let (leases, part) = (used / before.period, used % before.period);
        // Rounded up in floating-point numbers, as on Redis.
        let part = match part {
            _ if self.period == before.period => part,
            0 => 0,
            part => (part as f64 * self.period as f64 / before.period as f64) as u64 + 1,
        };
        (leases * self.period + part).min(self.most())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(count: u64, period: u64, burst: u64) -> StoredRate {
        StoredRate { count, period, burst }
    }

    #[test]
    fn the_next_lease_is_allowed_when_it_opens_and_not_before() {
        let most = MAX_RATE_PERIOD.as_millis() as u64;
        for rate in
            [rate(3, 10, 2), rate(7, 1000, 7), rate(MAX_RATE, most, MAX_RATE), rate(1, most, 1)]
        {
            let (mut used, mut now) = (0, 1_800_000_000_000);
            for _ in 0..100 {
                used += rate.allowed(used) * rate.period;
                let opens = rate.opens(used, now).unwrap();
                assert_eq!(rate.allowed(rate.used(used, opens - 1 - now)), 0, "{rate:?}");
                used = rate.used(used, opens - now);
                now = opens;
                assert!(rate.allowed(used) > 0 && rate.opens(used, now).is_none(), "{rate:?}");
            }
        }
    }

    #[test]
    fn the_highest_values_are_exact() {
        let most = MAX_RATE_PERIOD.as_millis() as u64 * MAX_RATE;
        assert!(most < 1 << 53);
        let rate = rate(MAX_RATE, MAX_RATE_PERIOD.as_millis() as u64, MAX_RATE);
        assert_eq!(rate.most(), most);
        assert_eq!((rate.used(most, u64::MAX), rate.used(most, 0)), (0, most));
    }

    #[test]
    fn another_rate_keeps_the_leases_that_are_used_up() {
        let (slow, fast) = (rate(2, 1000, 5), rate(9, 10, 4));
        assert_eq!(fast.converted(0, slow), 0);
        assert_eq!(fast.converted(2500, slow), 26, "never less than it was");
        assert_eq!(fast.converted(5000, slow), 40, "at most its burst");
        assert_eq!(slow.converted(35, fast), 3501);
        assert_eq!(rate(1, 1000, 5).converted(2501, slow), 2501, "the period is the same");
    }
}
