//! The engine's clock: the machine's, made never to go back.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the time comes from; tests set their own.
pub(super) type Source = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Milliseconds since 1970 on the machine's clock.
pub(super) fn machine() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
