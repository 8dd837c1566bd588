//! The clock of the embedded engine.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the embedded engine the time, in milliseconds since 1970: see [`ConnectOptions::clock`]. Made of a function.
///
/// [`ConnectOptions::clock`]: crate::ConnectOptions::clock
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// The clock of the machine.
    pub(crate) fn machine() -> Clock {
        let since = || SystemTime::now().duration_since(UNIX_EPOCH);
        Clock::from(move || since().map_or(0, |since| since.as_millis() as u64))
    }

    pub(crate) fn now_ms(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl<F: Fn() -> u64 + Send + Sync + 'static> From<F> for Clock {
    fn from(clock: F) -> Self {
        Clock(Arc::new(clock))
    }
}
