//! Telling holders of leases that the cancellation of their items was requested.
//!
//! One task for each queue asks the server, as long as any lease of the queue is watched. Usually it reads a counter
//! only: if that is the one at which all leases were checked last, there is nothing new.

use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::Result;
use crate::dispatch::Context;
use crate::engine::{LeaseStatus, Token};
use crate::lease::Shared;
use crate::lock::lock;
use crate::name::QueueName;
use crate::options::MAX_BATCH;
use crate::watches::Watch;

/// How often the task of a queue asks.
const INTERVAL: Duration = Duration::from_secs(2);

/// Watches a lease until it ends. Returns at once.
pub(crate) fn watch(context: &Arc<Context>, queue: &QueueName, token: Token, shared: &Arc<Shared>) {
    if context.check_open().is_err() {
        return;
    }
    let watch = Arc::new(Watch { token, shared: shared.clone(), checked: Mutex::default() });
    match lock(&context.watches.0).entry(queue.clone()) {
        Entry::Occupied(mut watches) => watches.get_mut().push(watch),
        Entry::Vacant(none) => {
            none.insert(vec![watch]);
            context.spawn(run(context.clone(), queue.clone()));
        }
    }
}

async fn run(context: Arc<Context>, queue: QueueName) {
    let mut failing = false;
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = context.closed.cancelled() => {}
        }
        let Some(watches) = still_watched(&context, &queue) else { return };
        let checked = tokio::select! {
            checked = check(&context, &queue, &watches) => checked,
            () = context.closed.cancelled() => continue,
        };
        match checked {
            Ok(()) => failing = false,
            // The engine has retried for the time of a call; the next round tries again.
            Err(error) if !failing => {
                failing = true;
                tracing::warn!(%queue, %error, "holders of leases are not told of cancellations for now");
            }
            Err(_) => {}
        }
    }
}

/// The leases of a queue that have not ended. `None`: there are none, and the task of the queue ends.
fn still_watched(context: &Context, queue: &QueueName) -> Option<Vec<Arc<Watch>>> {
    let mut queues = lock(&context.watches.0);
    let watches = queues.get_mut(queue)?;
    watches.retain(|watch| watch.shared.is_watched());
    if watches.is_empty() || context.closed.is_cancelled() {
        queues.remove(queue);
        return None;
    }
    Some(watches.clone())
}

/// Asks about the leases that were never checked, and if the counter is another one than theirs, about the others
/// too. A counter is read in one step with the marks that belong to it, so no mark is missed.
async fn check(context: &Context, queue: &QueueName, watches: &[Arc<Watch>]) -> Result<()> {
    let fresh: Vec<_> = watches.iter().filter(|watch| lock(&watch.checked).is_none()).collect();
    let first = &fresh[..fresh.len().min(MAX_BATCH)];
    let counter = ask(context, queue, first).await?;
    let rest: Vec<_> = watches.iter().filter(|watch| !watch.is_checked_at(counter)).collect();
    for part in rest.chunks(MAX_BATCH) {
        ask(context, queue, part).await?;
    }
    Ok(())
}

/// Asks about some leases, in one request, and notifies their holders. Returns the counter.
async fn ask(context: &Context, queue: &QueueName, watches: &[&Arc<Watch>]) -> Result<u64> {
    let tokens: Vec<Token> = watches.iter().map(|watch| watch.token).collect();
    let found = context.engine.cancellations(queue, &tokens).await?;
    for (watch, status) in watches.iter().zip(found.leases) {
        *lock(&watch.checked) = Some(found.counter);
        match status {
            LeaseStatus::Current => {}
            LeaseStatus::Cancelled => watch.shared.cancel(),
            LeaseStatus::Lost => watch.shared.end_watch(),
        }
    }
    Ok(found.counter)
}
