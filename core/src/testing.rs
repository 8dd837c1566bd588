//! Hooks for this project's own tests.

use std::fmt;
use std::sync::Arc;

/// A clock for the embedded engine: milliseconds since 1970.
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

/// Name and text of every script, as sent to the server.
#[cfg(feature = "redis")]
pub fn scripts() -> &'static [(&'static str, &'static str)] {
    crate::engine::redis::script_texts()
}
