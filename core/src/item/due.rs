//! When an added item becomes ready.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::options::{MAX_DELAY, check_delay};
use crate::{Error, Result};

/// When an added item becomes ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// So many ms after the add; 0: at once.
    After(u64),
    /// At this time by the clock of the engine, in ms since 1970.
    At(u64),
}

impl Due {
    /// Of valid options.
    pub(crate) fn new(delay: Duration, due_at: Option<SystemTime>) -> Due {
        match due_at {
            // Rounds up, as delays do.
            Some(time) => Due::At(since_1970(time).as_nanos().div_ceil(1_000_000) as u64),
            None => Due::After(check_delay(delay).unwrap_or(0)),
        }
    }

    /// The delay if it is now this time. A time that is too far ahead, because the clocks of the client and
    /// the engine differ, is cut to the longest delay.
    #[cfg(feature = "sqlite")]
    pub(crate) fn delay_ms(self, now_ms: u64) -> u64 {
        match self {
            Due::After(ms) => ms,
            Due::At(time) => time.saturating_sub(now_ms).min(MAX_DELAY.as_millis() as u64),
        }
    }
}

/// The clock of the engine decides, but only the engine knows it. So a time is compared with this machine's
/// clock, to find mistakes such as a wrong unit before anything is added.
pub(super) fn check(delay: Duration, due_at: Option<SystemTime>) -> Result<()> {
    let Some(time) = due_at else { return check_delay(delay).map(drop) };
    if !delay.is_zero() {
        return Err(Error::invalid("a delay and a time at which it is due"));
    }
    let ahead = time.duration_since(SystemTime::now()).unwrap_or_default();
    if ahead > MAX_DELAY {
        return Err(Error::invalid(format_args!(
            "due at {} s since 1970, more than 366 days ahead",
            since_1970(time).as_secs()
        )));
    }
    Ok(())
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}
