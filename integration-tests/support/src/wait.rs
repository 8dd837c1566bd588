//! Waits for a condition with a time limit, instead of a sleep that is too short or too long.

use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(2);

/// Polls `condition` every 2 ms until it holds (true) or `timeout` has passed (false).
///
/// ```no_run
/// # use std::time::Duration;
/// # async fn f(proxy: leaseq_test_support::Proxy) {
/// # use leaseq_test_support::eventually;
/// assert!(eventually(Duration::from_secs(2), async || proxy.connections_open() == 0).await);
/// # }
/// ```
#[must_use = "false means that the condition never held"]
pub async fn eventually(timeout: Duration, mut condition: impl AsyncFnMut() -> bool) -> bool {
    let end = Instant::now() + timeout;
    loop {
        if condition().await {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        tokio::time::sleep(POLL).await;
    }
}

/// [`eventually`] for code without a runtime.
#[must_use = "false means that the condition never held"]
pub fn eventually_blocking(timeout: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + timeout;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(POLL);
    }
}
