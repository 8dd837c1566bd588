//! The clock of the embedded engine.

use std::fmt;
use std::sync::Arc;

/// Milliseconds since 1970. Tests set their own clock.
#[derive(Clone)]
pub struct Clock(pub Arc<dyn Fn() -> u64 + Send + Sync>);

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
