//! Waits until the queue has certain counts, with a time limit.

use std::time::Duration;

use leaseq::{Counts, WorkQueue};
use leaseq_test_support::eventually;

use crate::error::Error;

/// How long any step may take; far longer than necessary.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the counts once they are as they should be.
pub(super) async fn counts(
    queue: &WorkQueue,
    what: &str,
    holds: impl Fn(&Counts) -> bool,
) -> Result<Counts, Error> {
    let mut last = Ok(Counts::default());
    let held = eventually(PATIENCE, async || {
        last = queue.counts().await;
        last.as_ref().map_or(true, &holds)
    })
    .await;
    match last {
        Ok(counts) if held => Ok(counts),
        Ok(counts) => Err(format!("waited {PATIENCE:?} until {what}, and have {counts:?}").into()),
        Err(error) => Err(error.into()),
    }
}
