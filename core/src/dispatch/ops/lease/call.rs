//! How a call that leases is made, and waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{SetOnce, oneshot};

use super::args::{Completing, LeaseArgs};
use super::op::LeaseOp;
use crate::Result;
use crate::dispatch::batcher::Batcher;
use crate::engine::Complete;
use crate::lease::{Lease, Shared};
use crate::wanted::Wanted;

/// What a call wants to lease.
pub(crate) struct LeaseParams {
    /// At most, up to [`MAX_BATCH`](crate::options::MAX_BATCH). 0: it wants to know when there is something.
    pub(crate) count: usize,
    /// Changes the count while the call waits.
    pub(crate) wanted: Option<Wanted>,
    pub(crate) duration_ms: u64,
    /// `None`: until there is an item.
    pub(crate) wait: Option<Duration>,
    /// When the engine must have answered for the first time.
    pub(crate) deadline: Instant,
}

impl Batcher<LeaseOp> {
    pub(crate) async fn lease(&self, params: LeaseParams) -> Result<Vec<Lease>> {
        self.complete_first(None, params).await
    }

    /// Completes 1 to [`MAX_BATCH`] leases, and leases as [`lease`](Self::lease) does. Both share one request
    /// if they are not more than [`MAX_BATCH`] together. Returns what was completed, `None` if there was no
    /// reply to that.
    ///
    /// [`MAX_BATCH`]: crate::options::MAX_BATCH
    pub(crate) async fn complete_and_lease(
        &self,
        (leases, handles): (Vec<Complete>, Vec<Arc<Shared>>),
        params: LeaseParams,
    ) -> (Option<Vec<bool>>, Result<Vec<Lease>>) {
        let (reply, mut completed) = oneshot::channel();
        let completing = Box::new(Completing { leases, handles, reply });
        let leases = self.complete_first(Some(completing), params).await;
        // It was answered before. Nothing may be awaited from here on, or the leases would be lost.
        (completed.try_recv().ok(), leases)
    }

    async fn complete_first(
        &self,
        completing: Option<Box<Completing>>,
        LeaseParams { count, wanted, duration_ms, wait, deadline }: LeaseParams,
    ) -> Result<Vec<Lease>> {
        // A wait too long for the clock never ends.
        let until = wait.and_then(|wait| Instant::now().checked_add(wait));
        let asked = Arc::new(SetOnce::new());
        let args = LeaseArgs { duration_ms, until, completing, asked: asked.clone(), wanted };
        let (reply, mut replied) = oneshot::channel();
        let enqueued = self.enqueue(args, count, deadline, reply);
        let leases = {
            let end_of_wait = async {
                let Some(until) = until else { return std::future::pending().await };
                // The call gets the first reply even if that is late. Most calls get a lease then, and need
                // no timer: a new one may wake the whole runtime.
                asked.wait().await;
                tokio::time::sleep_until(until.into()).await;
            };
            tokio::select! {
                biased;
                leases = enqueued.result(&mut replied) => Some(leases?),
                () = end_of_wait => None,
            }
        };
        let leases = match leases {
            Some(leases) => leases,
            None => {
                // Leases that have just arrived are taken. Those that come later are given back.
                replied.close();
                let Ok(leases) = replied.try_recv() else { return Ok(Vec::new()) };
                leases?
            }
        };
        Ok(leases.claim())
    }
}
