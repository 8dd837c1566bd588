//! Light cleans of one queue.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use leaseq::{Backoff, LightReport, Measured, Result, Role, WorkQueue};
use rand::Rng;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::shared::{Shared, pause};
use crate::state::Place;

/// Upper limit of the poll interval, however many queues there are: a notification may get lost.
const LONGEST_REST: Duration = Duration::from_secs(30);
/// Random factor of the poll interval, so that queues found together are not polled together.
const SPREAD: std::ops::Range<f64> = 0.6..1.0;
/// Pause between two light cleans of a queue.
const TOGETHER: Duration = Duration::from_millis(10);
/// Longest pause after failures.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// Longest pause after cleans that were due but found nothing to do.
const MAX_IDLE_PAUSE: Duration = Duration::from_millis(250);

/// Cleans until `stop` is cancelled.
pub(crate) async fn clean(shared: Shared, name: String, stop: CancellationToken) {
    let place = Place::Light(name.clone());
    let queue = match shared.client.queue(&name) {
        Ok(queue) => queue,
        Err(error) => return shared.fails(&place, &error),
    };
    let mut failures = Backoff::up_to(MAX_PAUSE);
    let mut idle = Backoff::up_to(MAX_IDLE_PAUSE);
    let mut may_clean = false;
    let mut recorded = 0;
    let mut listens: Option<OwnedSemaphorePermit> = None;
    while !stop.is_cancelled() {
        listens = listens.or_else(|| shared.listeners.clone().try_acquire_owned().ok());
        let is_due = tokio::select! {
            is_due = is_due(&shared, &queue, &mut may_clean, listens.is_some()) => is_due,
            () = stop.cancelled() => return,
        };
        record(&queue, matches!(is_due, Ok(Due::Yes)), &mut recorded).await;
        // Not cancelled: a clean that has started finishes.
        let outcome = match is_due {
            Ok(Due::Yes) => light_clean(&shared, &queue).await.map(Some),
            Ok(Due::No) => Ok(None),
            Ok(Due::NotAllowed) => {
                pause(failures.pause(), &stop).await;
                continue;
            }
            Err(error) => Err(error),
        };
        let time = match outcome {
            Ok(report) => {
                failures.reset();
                shared.overview.succeeds(&place);
                let found_nothing = report.is_some_and(|report| !has_moved(&report));
                if found_nothing && listens.is_some() {
                    idle.pause()
                } else {
                    // The pause lets items that become due in quick succession share a clean.
                    idle.reset();
                    TOGETHER
                }
            }
            Err(error) => {
                shared.fails(&place, &error);
                failures.pause()
            }
        };
        pause(time, &stop).await;
    }
}

/// How often (minutes) the history of a queue is written in which nothing is due.
const IDLE_ROWS: u64 = 10;

/// Writes the row of this minute into the history of the queue, unless somebody has. `recorded`: the last minute in which
/// this cleaner has tried.
async fn record(queue: &WorkQueue, is_due: bool, recorded: &mut u64) {
    // Which minute the row is of is decided by the server's clock.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let minute = now.as_secs() / 60;
    if minute.abs_diff(*recorded) < if is_due { 1 } else { IDLE_ROWS } {
        return;
    }
    match queue.record_history(&Measured::default()).await {
        Ok(_) => *recorded = minute,
        Err(error) => {
            tracing::debug!(queue = queue.name(), %error, "the history was not written");
        }
    }
}

enum Due {
    Yes,
    No,
    NotAllowed,
}

/// Waits until the queue is due or the poll interval has passed.
async fn is_due(
    shared: &Shared,
    queue: &WorkQueue,
    may_clean: &mut bool,
    listens: bool,
) -> Result<Due> {
    if !*may_clean {
        // Reports a missing right before it can stop a script half-way.
        if let Some(why) = missing_rights(queue).await? {
            let place = Place::Light(queue.name().to_owned());
            shared.overview.fails_with(&place, &why, false);
            return Ok(Due::NotAllowed);
        }
        *may_clean = true;
    }
    let rest = rest(shared);
    if listens {
        Ok(if queue.wait_until_due(rest).await? { Due::Yes } else { Due::No })
    } else {
        tokio::time::sleep(rest).await;
        Ok(Due::Yes)
    }
}

/// The poll interval.
fn rest(shared: &Shared) -> Duration {
    let queues = shared.count.load(Ordering::Relaxed).max(1) as u32;
    let interval = shared.settings.light_interval;
    let rest = interval.saturating_mul(queues).min(LONGEST_REST.max(interval));
    if queues > 1 { rest.mul_f64(rand::rng().random_range(SPREAD)) } else { rest }
}

/// The rights to grant, if the user lacks any for cleaning.
pub(crate) async fn missing_rights(queue: &WorkQueue) -> Result<Option<String>> {
    let lacks = queue.missing_rights(Role::Cleaner).await?;
    let why = || format!("the user lacks rights to clean: grant {}", lacks.join(" "));
    Ok((!lacks.is_empty()).then(why))
}

async fn light_clean(shared: &Shared, queue: &WorkQueue) -> Result<LightReport> {
    let begun = Instant::now();
    let report = queue.light_clean().await?;
    if has_moved(&report) {
        let (promoted, expired, died) = (report.promoted, report.expired, report.died);
        let removed = report.removed;
        shared.overview.metrics.light_seconds.observe(begun.elapsed().as_secs_f64());
        tracing::info!(queue = queue.name(), promoted, expired, died, removed, "light clean");
    }
    Ok(report)
}

fn has_moved(report: &LightReport) -> bool {
    report.promoted + report.expired + report.removed > 0
}
