//! Reporting progress.

use std::time::Instant;

use bytes::Bytes;

use super::settle::lost;
use super::work_queue::WorkQueue;
use crate::lease::Lease;
use crate::options::MAX_PROGRESS;
use crate::{Error, Result};

impl WorkQueue {
    /// Stores how far the holder of the lease has come, for [`get`](WorkQueue::get) and [`list`](WorkQueue::list):
    /// up to 1,024 bytes of any kind. The value replaces that of earlier holders. It stays when the lease ends,
    /// until the item is completed or gone.
    ///
    /// May be called as often as the holder likes. The first value of a lease is stored when the call returns. Within
    /// a second after a request of this client for the queue, a value waits instead, replaces one that waits, and
    /// the call returns at once; when the second is over, the client sends what waits for all leases in one
    /// request. [`fail`](WorkQueue::fail) and [`release`](WorkQueue::release) send what waits for their leases
    /// before them; [`complete`](WorkQueue::complete) drops it.
    ///
    /// # Errors
    /// `LeaseLost`, perhaps only in a later call than the one whose value came too late; `Invalid` for more than
    /// 1,024 bytes or a lease of another queue.
    pub async fn set_progress(&self, lease: &Lease, progress: impl Into<Bytes>) -> Result<()> {
        let progress = progress.into();
        if progress.len() > MAX_PROGRESS {
            return Err(Error::invalid(format_args!(
                "progress has {} bytes; the limit is {MAX_PROGRESS}",
                progress.len()
            )));
        }
        self.own([lease])?;
        let until = self.dispatch.open().await?;
        match self.dispatch.reports.report(lease.token(), progress, &lease.shared, until).await? {
            true => Ok(()),
            false => Err(lost(lease)),
        }
    }

    /// Makes a call that ends these leases, with what waits of their progress before it. Both are under way together,
    /// and the order of calls keeps them apart.
    pub(super) async fn after_progress<T>(
        &self,
        leases: &[&Lease],
        until: Instant,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let reports = &self.dispatch.reports;
        let waiting = reports.take(leases.iter().map(|lease| lease.token()));
        if waiting.is_empty() {
            return call.await;
        }
        // Whatever becomes of the progress, the leases end.
        let (_, done) = tokio::join!(biased; reports.send(waiting, until), call);
        done
    }
}
