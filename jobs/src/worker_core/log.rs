//! One line for each thing that happens to a job.

use std::fmt::Display;

use leaseq::{SyncedSchedules, WorkQueue};
use tracing::{debug, error, info, warn};

use super::reason::Reason;
use super::running::Running;
use super::settlement::Settled;

/// Writes an event with the fields of a job.
macro_rules! job_event {
    ($level:ident, $running:expr, $($field:tt)*) => {
        $level!(
            queue = $running.lease.queue(),
            job = $running.name.as_str(),
            id = %$running.lease.id().escape_ascii(),
            attempt = $running.lease.attempt(),
            $($field)*
        )
    };
}

pub(super) fn started(running: &Running) {
    job_event!(debug, running, "started");
}

pub(super) fn settled(running: &Running, settled: &Settled) {
    let duration_ms = running.elapsed().as_millis() as u64;
    let cancelled = running.reason().map_or("", Reason::as_str);
    match settled {
        Settled::Completed => job_event!(info, running, duration_ms, "completed"),
        Settled::Retried { delay, error } => {
            let delay_ms = delay.as_millis() as u64;
            job_event!(
                warn,
                running,
                duration_ms,
                delay_ms,
                error = error.as_str(),
                "failed, to be retried"
            );
        }
        Settled::Dead { error } => {
            job_event!(error, running, duration_ms, error = error.as_str(), "dead")
        }
        Settled::Released { delay } => {
            let delay_ms = delay.as_millis() as u64;
            job_event!(info, running, duration_ms, delay_ms, cancelled, "released");
        }
        Settled::Cancelled => job_event!(info, running, duration_ms, "cancelled"),
        Settled::Lost => job_event!(warn, running, duration_ms, cancelled, "lost"),
    }
}

pub(super) fn refused(running: &Running, reason: &str) {
    job_event!(warn, running, reason, "this worker cannot run the job");
}

pub(super) fn hung(running: &Running) {
    let duration_ms = running.elapsed().as_millis() as u64;
    job_event!(error, running, duration_ms, "the handler does not stop after its timeout");
}

pub(super) fn not_settled(running: &Running, failure: &dyn Display) {
    job_event!(error, running, %failure, "the end of the job could not be reported");
}

pub(super) fn not_leased(queue: &WorkQueue, failure: &dyn Display) {
    error!(queue = queue.name(), %failure, "no jobs can be leased for now");
}

pub(super) fn schedules(queue: &WorkQueue, synced: &SyncedSchedules) {
    let SyncedSchedules { added, updated, removed, outdated, .. } = synced;
    if [added, updated, removed].into_iter().any(|names| !names.is_empty()) {
        info!(queue = queue.name(), ?added, ?updated, ?removed, "the schedules have changed");
    }
    if !outdated.is_empty() {
        warn!(queue = queue.name(), ?outdated, "a newer deployment has changed these schedules");
    }
}

pub(super) fn not_scheduled(queue: &WorkQueue, failure: &dyn Display) {
    error!(queue = queue.name(), %failure, "the schedules cannot be stored for now");
}
