//! Finds the queues, and runs a task for each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use leaseq::{Client, Error};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::overview::Overview;
use crate::shared::{Shared, pause};
use crate::state::Place;
use crate::{deep, events, light};

/// Limits of the interval at which the list of queues is read.
const MIN_REST: Duration = Duration::from_secs(1);
const MAX_REST: Duration = Duration::from_secs(30);
/// Number of queues for which one round starts tasks. The next round starts more.
const MAX_NEW: usize = 500;
/// Number of queues on which the cleaner waits for notifications. Each costs the server memory, and
/// in a Cluster a connection. Further queues are polled.
const MAX_LISTENED: usize = 1_000;

/// The task of a queue.
struct Served {
    stop: CancellationToken,
    task: AbortHandle,
}

/// Cleans until `stop` is cancelled, then finishes the current step.
pub(crate) async fn clean(
    client: Client,
    settings: Arc<Settings>,
    overview: Arc<Overview>,
    stop: CancellationToken,
) {
    let listeners = Arc::new(Semaphore::new(MAX_LISTENED));
    let count = Arc::default();
    let shared = Shared { client, settings, overview, count, listeners };
    let (names, known) = tokio::sync::watch::channel(BTreeSet::new());
    let mut tasks = JoinSet::new();
    let mut deep = tasks.spawn(deep::clean(shared.clone(), known.clone(), stop.clone()));
    if let Some(path) = shared.settings.events.clone() {
        tasks.spawn(events::write(shared.clone(), path, known.clone(), stop.clone()));
    }
    let mut served = BTreeMap::new();
    while !stop.is_cancelled() {
        let found = tokio::select! {
            found = discover(&shared) => found,
            () = stop.cancelled() => break,
        };
        let mut rest = shared.settings.light_interval.clamp(MIN_REST, MAX_REST);
        match found {
            Ok(found) => {
                shared.overview.set_queues(&found);
                shared.overview.succeeds(&Place::Names);
                shared.count.store(found.len(), Ordering::Relaxed);
                if !serve(&shared, &found, &mut served, &mut tasks, &stop) {
                    rest = MIN_REST;
                }
                names.send_if_modified(|before| {
                    let is_new = *before != found;
                    *before = found;
                    is_new
                });
            }
            Err(error) => shared.fails(&Place::Names, &error),
        }
        while tasks.try_join_next().is_some() {}
        if deep.is_finished() {
            deep = tasks.spawn(deep::clean(shared.clone(), known.clone(), stop.clone()));
        }
        pause(rest, &stop).await;
    }
    while tasks.join_next().await.is_some() {}
    shared.client.close().await;
}

async fn discover(shared: &Shared) -> Result<BTreeSet<String>, Error> {
    if let Some(names) = &shared.settings.queues {
        return Ok(names.iter().cloned().collect());
    }
    let found = shared.client.queue_names().await?;
    shared.overview.set_skipped(found.skipped);
    Ok(found.names.into_iter().collect())
}

/// Stops the tasks of queues that are gone and starts tasks for new ones. False: there are more.
fn serve(
    shared: &Shared,
    found: &BTreeSet<String>,
    served: &mut BTreeMap<String, Served>,
    tasks: &mut JoinSet<()>,
    stop: &CancellationToken,
) -> bool {
    served.retain(|name, queue| {
        if !found.contains(name) {
            queue.stop.cancel();
        }
        // A task that ended by itself is restarted.
        found.contains(name) && !queue.task.is_finished()
    });
    let new: Vec<&String> = found.iter().filter(|name| !served.contains_key(*name)).collect();
    for name in new.iter().take(MAX_NEW) {
        let stop = stop.child_token();
        let task = tasks.spawn(light::clean(shared.clone(), (*name).clone(), stop.clone()));
        served.insert((*name).clone(), Served { stop, task });
    }
    new.len() <= MAX_NEW
}
