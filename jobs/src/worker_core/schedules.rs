//! Stores the schedules of the deployment, before the worker leases if that does not take long.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use leaseq::{Backoff, Client, Result, Schedule};
use tokio_util::sync::CancellationToken;

use super::exit::ExitReason;
use super::log;
use super::options::{Deployment, WorkerOptions};
use super::phases::supervise;
use super::shutdown;
use super::state::{Phase, Shared};

/// The longest pause after a failed request.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The worker leases after this time although a queue has not answered. A burst waits: it runs what the schedules add.
const PATIENCE: Duration = Duration::from_secs(1);

/// Begins to store the schedules, and returns when the worker may lease. What is wrong with them ends it.
pub(super) async fn sync(shared: &Arc<Shared>, client: &Client) {
    if shared.options.deployment.is_none() {
        return;
    }
    let stored = CancellationToken::new();
    let (done, storing, client) = (stored.clone().drop_guard(), shared.clone(), client.clone());
    supervise(shared, async move {
        let _done = done;
        let synced = tokio::select! {
            synced = sync_all(&storing, &client) => synced,
            () = storing.until_phase(Phase::Draining) => Ok(()),
        };
        if let Err(error) = synced {
            storing.lock().error.get_or_insert(error);
            shutdown::drain(&storing, storing.options.grace, ExitReason::Failed);
        }
    });
    if shared.options.burst {
        stored.cancelled().await;
    } else {
        _ = tokio::time::timeout(PATIENCE, stored.cancelled()).await;
    }
}

/// All queues at the same time: one that hangs does not hold up the others.
async fn sync_all(shared: &Shared, client: &Client) -> Result<()> {
    let Some(deployment) = &shared.options.deployment else { return Ok(()) };
    let queues = by_queue(deployment, &shared.options);
    let syncs = queues
        .into_iter()
        .map(|(queue, schedules)| sync_queue(client, deployment, queue, schedules));
    try_join_all(syncs).await.map(drop)
}

async fn sync_queue(
    client: &Client,
    deployment: &Deployment,
    queue: String,
    schedules: Vec<Schedule>,
) -> Result<()> {
    let queue = client.queue(&queue)?;
    let mut backoff = Backoff::up_to(MAX_PAUSE);
    loop {
        let (owner, revision) = (&deployment.owner, deployment.revision);
        match queue.sync_schedules(owner, revision, schedules.clone()).await {
            Ok(synced) => {
                log::schedules(&queue, &synced);
                return Ok(());
            }
            Err(error) if error.kind().is_retryable() => {
                log::not_scheduled(&queue, &error);
                tokio::time::sleep(backoff.pause()).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// The declared schedules of each queue; of a queue of the worker perhaps none.
fn by_queue(deployment: &Deployment, options: &WorkerOptions) -> BTreeMap<String, Vec<Schedule>> {
    let mut queues: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for queue in options.queues.iter().filter(|queue| !queue.is_pattern()) {
        queues.insert(queue.name.clone(), Vec::new());
    }
    for (queue, schedule) in &deployment.schedules {
        queues.entry(queue.clone()).or_default().push(schedule.clone());
    }
    queues
}
