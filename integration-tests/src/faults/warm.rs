//! Nothing is broken before the processes work.

use std::time::{Duration, Instant};

use super::worker_pool::HEALED;
use crate::error::Error;

/// Waits until so much was completed.
pub(super) async fn until_warm<T: PartialOrd>(
    completed: impl Fn() -> T,
    enough: T,
) -> Result<(), Error> {
    let end = Instant::now() + HEALED;
    while completed() < enough {
        if Instant::now() >= end {
            return Err("nothing was completed before anything was broken".into());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}
