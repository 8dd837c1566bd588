//! When and how often a failed job is tried again.

use std::time::Duration;

use leaseq::options::MAX_ATTEMPTS;
use leaseq::{Error, Result};
use rand::Rng;

use crate::JobError;

/// Rules for retries. A failed job waits for a random time between 0 and `base` · 2ⁿ, at most `cap`, where n is the
/// number of earlier attempts ("full jitter": jobs that failed together do not return together).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// How many attempts a job has, 1 to 65,535. Failures and expired leases count, releases do not. An item's own
    /// limit takes precedence. Default: 10.
    pub attempts: u32,
    /// Default: 1 s.
    pub base: Duration,
    /// Default: 10 minutes.
    pub cap: Duration,
    /// If not empty, only errors of these classes are retried.
    pub on: Vec<String>,
    /// Errors of these classes are not retried.
    pub never: Vec<String>,
}

/// Rules of one job: what is `None` is left to its handler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryRules {
    /// See [`Retry::attempts`].
    pub attempts: Option<u32>,
    /// See [`Retry::base`].
    pub base: Option<Duration>,
    /// See [`Retry::cap`].
    pub cap: Option<Duration>,
    /// See [`Retry::on`].
    pub on: Option<Vec<String>>,
    /// See [`Retry::never`].
    pub never: Option<Vec<String>>,
}

impl RetryRules {
    /// With what these rules leave to the handler.
    pub(crate) fn over(self, handler: &Retry) -> Retry {
        Retry {
            attempts: self.attempts.unwrap_or(handler.attempts).max(1),
            base: self.base.unwrap_or(handler.base),
            cap: self.cap.unwrap_or(handler.cap),
            on: self.on.unwrap_or_else(|| handler.on.clone()),
            never: self.never.unwrap_or_else(|| handler.never.clone()),
        }
    }
}

/// All of them, whatever those of the handler are.
impl From<Retry> for RetryRules {
    fn from(retry: Retry) -> Self {
        let Retry { attempts, base, cap, on, never } = retry;
        RetryRules {
            attempts: Some(attempts),
            base: Some(base),
            cap: Some(cap),
            on: Some(on),
            never: Some(never),
        }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Retry {
            attempts: 10,
            base: Duration::from_secs(1),
            cap: Duration::from_secs(600),
            on: Vec::new(),
            never: Vec::new(),
        }
    }
}

impl Retry {
    /// This many attempts, 1 to 65,535.
    pub fn new(attempts: u32) -> Self {
        Retry { attempts, ..Retry::default() }
    }

    /// A failed job is dead at once.
    pub fn none() -> Self {
        Retry::new(1)
    }

    /// The longest delay after the first attempt; it doubles with every attempt.
    pub fn base(mut self, base: Duration) -> Self {
        self.base = base;
        self
    }

    /// The longest delay.
    pub fn cap(mut self, cap: Duration) -> Self {
        self.cap = cap;
        self
    }

    /// Retries only errors of these classes.
    pub fn on(mut self, classes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.on = classes.into_iter().map(Into::into).collect();
        self
    }

    /// Never retries errors of these classes.
    pub fn never(mut self, classes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.never = classes.into_iter().map(Into::into).collect();
        self
    }

    pub(crate) fn validate(&self) -> Result<()> {
        check_attempts(self.attempts)
    }

    /// Whether the rules allow that this error is retried at all.
    pub(crate) fn covers(&self, error: &JobError) -> bool {
        let is_one_of =
            |classes: &[String]| error.classes().iter().any(|one| classes.contains(one));
        !is_one_of(&self.never) && (self.on.is_empty() || is_one_of(&self.on))
    }

    /// The delay after this attempt, of which the first is 1.
    pub(crate) fn delay(&self, attempt: u32) -> Duration {
        rand::rng().random_range(Duration::ZERO..=self.longest_delay(attempt))
    }

    fn longest_delay(&self, attempt: u32) -> Duration {
        let factor = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        self.base.saturating_mul(factor).min(self.cap)
    }
}

/// # Errors
/// `Invalid` for a number that is out of range.
pub(crate) fn check_attempts(attempts: u32) -> Result<()> {
    if attempts == 0 || attempts > MAX_ATTEMPTS {
        return Err(Error::invalid(format_args!(
            "{attempts} attempts are not between 1 and {MAX_ATTEMPTS}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_cap_and_are_spread_over_the_whole_range() {
        let retry = Retry::default().base(Duration::from_secs(2)).cap(Duration::from_secs(60));
        let longest = [1, 2, 3, 5, 6, 32, 33, u32::MAX].map(|attempt| retry.longest_delay(attempt));
        assert_eq!(longest.map(|delay| delay.as_secs()), [2, 4, 8, 32, 60, 60, 60, 60]);
        let delays: Vec<_> = (0..1000).map(|_| retry.delay(3)).collect();
        let count = |range: std::ops::Range<u64>| {
            delays.iter().filter(|delay| range.contains(&(delay.as_millis() as u64))).count()
        };
        let (low, high) = (count(0..4000), count(4000..8001));
        assert_eq!(low + high, 1000);
        // Each has 500 on average, with a standard deviation of 16.
        assert!(low > 350 && high > 350, "{low} below the middle, {high} above");
        assert_eq!(Retry::default().base(Duration::ZERO).delay(9), Duration::ZERO);
    }

    #[test]
    fn classes_decide_whether_an_error_is_retried() {
        let error = JobError::with_classes(["RateLimited", "HttpError"], "429");
        assert!(Retry::default().covers(&error));
        assert!(Retry::default().on(["HttpError"]).covers(&error));
        assert!(!Retry::default().on(["OSError"]).covers(&error));
        assert!(!Retry::default().never(["HttpError"]).covers(&error));
        assert!(!Retry::default().on(["RateLimited"]).never(["HttpError"]).covers(&error));
    }

    #[test]
    fn attempts_have_limits() {
        assert!(Retry::new(0).validate().is_err());
        assert!(Retry::new(65_536).validate().is_err());
        assert!(Retry::new(65_535).validate().is_ok());
    }
}
