//! The rate of each key of a queue.

use std::time::Duration;

use crate::rate::StoredRate;
use crate::{Error, Result};

/// The longest time for which the burst of a rate may be used up.
pub(crate) const MAX_REFILL: Duration = Duration::from_secs(366 * 86_400);

/// How many leases each key gets.
///
/// One number says how much of it is used up: *until* when the key has not refilled, in µs since 1970. Each lease moves
/// that on by a step, and a time that has passed says nothing. It does not depend on the rate, so another rate needs no
/// conversion of all keys. A step is rounded up to a whole µs, which allows fewer leases, never more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyRate {
    step: u64,
    burst: u64,
}

impl KeyRate {
    /// `None` if that would be used up for too long, which counts as not set.
    pub(crate) fn of(rate: StoredRate) -> Option<KeyRate> {
        let StoredRate { count, period, burst } = rate;
        let refill = u128::from(burst) * u128::from(period) / u128::from(count);
        (refill <= MAX_REFILL.as_millis())
            .then(|| KeyRate { step: (period * 1_000).div_ceil(count), burst })
    }

    pub(crate) fn check(rate: StoredRate) -> Result<()> {
        if KeyRate::of(rate).is_some() {
            return Ok(());
        }
        let StoredRate { count, period, burst } = rate;
        Err(Error::invalid(format_args!(
            "a key's rate of {count} in {period} ms with a burst of {burst} would be used up for more than {} days",
            MAX_REFILL.as_secs() / 86_400
        )))
    }

    /// What is used up now. A stored time is cut to what the rate can use up: the clock was set back, or an earlier
    /// rate was lower. `slack`: how many ms the stored time may be later than that, because of another clock.
    pub(crate) fn until(self, stored: i64, now_ms: u64, slack: u64) -> u64 {
        let (now, most) = (now_us(now_ms), self.step * self.burst);
        let stored = u64::try_from(stored).unwrap_or(0);
        match stored > now.saturating_add(most + slack * 1_000) {
            true => now.saturating_add(most),
            false => stored.max(now),
        }
    }

    /// How many leases are allowed now.
    pub(crate) fn allowed(self, until: u64, now_ms: u64) -> u64 {
        now_us(now_ms).saturating_add(self.step * self.burst).saturating_sub(until) / self.step
    }

    /// After another lease.
    pub(crate) fn after(self, until: u64) -> u64 {
        until.saturating_add(self.step)
    }

    /// In which ms the next lease is allowed.
    pub(crate) fn opens(self, until: u64) -> u64 {
        until.saturating_sub(self.step * (self.burst - 1)).div_ceil(1_000)
    }

    /// The latest ms at which a key may open.
    pub(crate) fn latest(self, now_ms: u64) -> u64 {
        now_ms.saturating_add(self.step.div_ceil(1_000))
    }
}

/// No clock is so late, but a damaged file may say so.
fn now_us(now_ms: u64) -> u64 {
    now_ms.saturating_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(count: u64, period: u64, burst: u64) -> KeyRate {
        KeyRate::of(StoredRate { count, period, burst }).unwrap()
    }

    #[test]
    fn the_next_lease_is_allowed_when_it_opens_and_not_before() {
        let month = 31 * 86_400_000;
        for (count, period, burst) in
            [(3, 10, 2), (7, 1_000, 7), (1_000_000, 1, 1_000_000), (1, month, 11), (1, 1, 1)]
        {
            let (rate, begin) = (rate(count, period, burst), 1_800_000_000_000);
            let (mut until, mut now, mut leases) = (rate.until(0, begin, 0), begin, 0);
            for _ in 0..100 {
                let allowed = rate.allowed(until, now).min(1_000);
                leases += allowed;
                let most = u128::from(burst)
                    + u128::from(count) * u128::from(now - begin) / u128::from(period);
                assert!(u128::from(leases) <= most, "{rate:?}");
                (0..allowed).for_each(|_| until = rate.after(until));
                if rate.allowed(until, now) == 0 {
                    let opens = rate.opens(until);
                    assert!(opens > now && opens <= rate.latest(now), "{rate:?}");
                    assert_eq!(rate.allowed(rate.until(until as i64, opens - 1, 0), opens - 1), 0);
                    now = opens;
                    until = rate.until(until as i64, now, 0);
                    assert!(rate.allowed(until, now) > 0, "{rate:?}");
                }
            }
        }
    }

    #[test]
    fn a_time_that_is_too_far_away_is_cut() {
        let rate = rate(10, 1_000, 5);
        let now = 1_800_000_000_000;
        let far = (now * 1_000 + 500_001) as i64;
        assert_eq!(rate.until(far, now, 0), now * 1_000 + 500_000);
        assert_eq!(rate.until(far, now, 10), far as u64);
        assert_eq!(rate.until(i64::MAX, now, 10), now * 1_000 + 500_000);
        assert_eq!(rate.until(-5, now, 0), now * 1_000);
    }

    #[test]
    fn a_burst_that_is_used_up_for_too_long_is_refused() {
        let year = StoredRate { count: 1, period: 86_400_000, burst: 366 };
        assert!(KeyRate::check(year).is_ok());
        let error = KeyRate::check(StoredRate { burst: 367, ..year }).unwrap_err();
        assert!(error.to_string().contains("burst of 367"), "{error}");
    }
}
