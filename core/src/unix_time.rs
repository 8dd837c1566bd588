//! Times as engines store them: ms since 1970.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) fn from_ms(ms: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(ms)
}

/// 0 for a time before 1970.
pub(crate) fn to_ms(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}
