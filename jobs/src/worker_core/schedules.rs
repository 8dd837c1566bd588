//! Stores the schedules of the deployment, before the worker leases.

use std::collections::BTreeMap;
use std::time::Duration;

use leaseq::{Backoff, Client, Result, Schedule};

use super::exit::ExitReason;
use super::log;
use super::options::{Deployment, WorkerOptions};
use super::state::{Phase, Shared};

/// The longest pause after a failed request.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Returns when the schedules are stored, or when the worker is to end before. What is wrong with them ends the worker.
pub(super) async fn sync(shared: &Shared, client: &Client) {
    let Some(deployment) = &shared.options.deployment else { return };
    let synced = tokio::select! {
        synced = sync_all(shared, client, deployment) => synced,
        () = shared.until_phase(Phase::Draining) => return,
    };
    if let Err(error) = synced {
        shared.abort(ExitReason::Failed, Some(error));
    }
}

async fn sync_all(shared: &Shared, client: &Client, deployment: &Deployment) -> Result<()> {
    for (queue, schedules) in by_queue(deployment, &shared.options) {
        let queue = client.queue(&queue)?;
        let mut backoff = Backoff::up_to(MAX_PAUSE);
        loop {
            let (owner, revision) = (&deployment.owner, deployment.revision);
            match queue.sync_schedules(owner, revision, schedules.clone()).await {
                Ok(synced) => {
                    log::schedules(&queue, &synced);
                    break;
                }
                Err(error) if error.kind().is_retryable() => {
                    log::not_scheduled(&queue, &error);
                    tokio::time::sleep(backoff.pause()).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
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
