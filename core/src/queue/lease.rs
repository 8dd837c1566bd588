//! Leasing items.

use super::WorkQueue;
use crate::dispatch::lease;
use crate::lease::Lease;
use crate::options::{LeaseOptions, MAX_BATCH};
use crate::{Error, Result, keep_alive};

impl WorkQueue {
    /// Leases the oldest ready item of the highest priority. `None`: there was none within
    /// [`wait`](LeaseOptions::wait), which is not an error; without `wait` it waits until there is
    /// one. Dropping the future strands nothing: what was leased for it is given back at once.
    ///
    /// # Errors
    /// `Invalid` for a duration outside 1 ms to 30 days.
    pub async fn lease(&self, options: LeaseOptions) -> Result<Option<Lease>> {
        Ok(self.lease_many(1, options).await?.pop())
    }

    /// Leases up to `count` items: waits for the first, then takes what is there, at most 1,000
    /// and about 16 MiB. Empty: there was none within [`wait`](LeaseOptions::wait).
    ///
    /// # Errors
    /// `Invalid` for a count of 0, or a duration outside 1 ms to 30 days.
    pub async fn lease_many(&self, count: usize, options: LeaseOptions) -> Result<Vec<Lease>> {
        let duration_ms = options.validate()?;
        if count == 0 {
            return Err(Error::invalid("a lease of 0 items: the least is 1"));
        }
        self.dispatch.open().await?;
        let leases = lease(&self.dispatch, count.min(MAX_BATCH), duration_ms, options.wait).await?;
        if let Some(keep) = &options.keep_alive {
            for lease in &leases {
                keep_alive::start(&self.dispatch, lease, keep);
            }
        }
        Ok(leases)
    }
}
