//! Deep cleans of all queues, one queue at a time.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use leaseq::{DeepClean, Result};
use leaseq_report::summary;
use tokio::sync::watch::Receiver;
use tokio_util::sync::CancellationToken;

use crate::light::missing_rights;
use crate::shared::Shared;
use crate::state::Place;

/// Pause after a deep clean that failed.
const PAUSE: Duration = Duration::from_secs(60);
/// A cleaner that starts a deep clean blocks others for this long; a finished clean blocks them for
/// longer.
const TURN: Duration = Duration::from_secs(60);
/// Shortest pause before the same queue is checked again.
const MIN_PAUSE: Duration = Duration::from_millis(100);

/// Cleans until `stop` is cancelled.
pub(crate) async fn clean(
    shared: Shared,
    mut known: Receiver<BTreeSet<String>>,
    stop: CancellationToken,
) {
    let mut due: HashMap<String, Instant> = HashMap::new();
    loop {
        let names = known.borrow_and_update().clone();
        due.retain(|name, _| names.contains(name));
        for name in names {
            let at = *due.entry(name.clone()).or_insert_with(Instant::now);
            // The queue may have gone while others were cleaned.
            if at > Instant::now() || !known.borrow().contains(&name) {
                continue;
            }
            let wait = tokio::select! {
                wait = clean_one(&shared, &name) => wait,
                () = stop.cancelled() => return,
            };
            due.insert(name, Instant::now() + wait.max(MIN_PAUSE));
        }
        let next = due.values().min().map(|at| at.saturating_duration_since(Instant::now()));
        tokio::select! {
            () = tokio::time::sleep(next.unwrap_or(PAUSE).max(MIN_PAUSE)) => {}
            changed = known.changed() => if changed.is_err() { return },
            () = stop.cancelled() => return,
        }
    }
}

/// Cleans a queue if no other cleaner does. Returns the time until the next attempt.
async fn clean_one(shared: &Shared, name: &str) -> Duration {
    let interval = shared.settings.deep_interval;
    let place = Place::Deep(name.to_owned());
    let begun = Instant::now();
    match clean_if_due(shared, name).await {
        Ok(Some(DeepClean::NotYet(wait))) => {
            // A short wait only shows that another cleaner has started, and it may fail.
            if wait > TURN {
                shared.overview.succeeds(&place);
            } else {
                shared.overview.answers(&place);
            }
            wait.min(interval)
        }
        Ok(Some(DeepClean::Done(report))) => {
            shared.overview.succeeds(&place);
            shared.overview.metrics.deep_seconds.observe(begun.elapsed().as_secs_f64());
            shared.overview.deeply_cleaned(name, &report);
            if !report.is_sound() {
                let (items, found) = (report.items, summary(&report));
                let details = report.details.join("; ");
                tracing::warn!(queue = name, items, found, details, "deep clean");
            }
            interval
        }
        Ok(None) => PAUSE.min(interval),
        Err(error) => {
            shared.fails(&place, &error);
            PAUSE.min(interval)
        }
    }
}

/// `None`: a right is missing, which the light cleans of the queue report.
async fn clean_if_due(shared: &Shared, name: &str) -> Result<Option<DeepClean>> {
    let queue = shared.client.queue(name)?;
    if missing_rights(&queue).await?.is_some() {
        return Ok(None);
    }
    queue.deep_clean_if_due(shared.settings.deep_interval).await.map(Some)
}
