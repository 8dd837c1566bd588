//! Pauses between the steps of long operations.

use std::time::{Duration, Instant};

/// Pauses for `pace` times as long as the step took that began at `begun`, so that others can use the
/// engine.
pub(crate) async fn pause(begun: Instant, pace: u32) {
    if pace > 0 {
        tokio::time::sleep((begun.elapsed() * pace).min(Duration::from_millis(200))).await;
    }
}
