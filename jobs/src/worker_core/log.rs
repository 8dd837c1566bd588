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
        // Thousands of jobs may wait for a newer worker.
        Settled::Released { delay } if !running.has_started() => {
            let delay_ms = delay.as_millis() as u64;
            job_event!(debug, running, delay_ms, cancelled, "released without a start");
        }
        Settled::Released { delay } => {
            let delay_ms = delay.as_millis() as u64;
            job_event!(info, running, duration_ms, delay_ms, cancelled, "released");
        }
        Settled::Cancelled => job_event!(info, running, duration_ms, "cancelled"),
        Settled::Lost => job_event!(warn, running, duration_ms, cancelled, "lost"),
        Settled::Uncertain => job_event!(
            warn,
            running,
            duration_ms,
            cancelled,
            "its end was reported, or its lease has expired"
        ),
    }
}

pub(super) fn refused(running: &Running, reason: &str) {
    job_event!(
        warn,
        running,
        reason,
        "this worker cannot run the job; others like it are not mentioned"
    );
}

pub(super) fn unattended(jobs: usize) {
    error!(jobs, "nobody asks for jobs that could start: they are given back");
}

pub(super) fn defect(failure: &dyn Display) {
    error!(%failure, "the worker ends");
}

pub(super) fn hung(running: &Running) {
    let duration_ms = running.elapsed().as_millis() as u64;
    job_event!(error, running, duration_ms, "the handler does not stop after its timeout");
}

pub(super) fn detached(running: &Running) {
    job_event!(
        warn,
        running,
        "the queue does not confirm the end of the job: its slot is used for others"
    );
}

pub(super) fn not_settled(running: &Running, failure: &dyn Display) {
    job_event!(error, running, %failure, "the end of the job could not be reported");
}

pub(super) fn not_leased(queue: &WorkQueue, failure: &dyn Display) {
    error!(queue = queue.name(), %failure, "no jobs can be leased for now");
}

pub(super) fn not_ticked(queue: &WorkQueue, failure: &dyn Display) {
    warn!(queue = queue.name(), %failure, "schedules that are due cannot be processed for now");
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

pub(super) fn throttled(what: &str, percent: f64) {
    warn!(what, percent, "throttled: no more jobs are leased");
}

pub(super) fn resumed() {
    info!("not throttled any more");
}

pub(super) fn gpu_unknown(command: &str, failure: &str) {
    warn!(command, failure, "the use of the GPU is unknown");
}

pub(super) fn quiet(quiet: bool) {
    info!(quiet, "told to lease nothing, or to lease again");
}

pub(super) fn told_to_stop() {
    info!("told to stop: the worker ends when its handlers have");
}

pub(super) fn not_cancelled(running: &Running, failure: &dyn Display) {
    job_event!(error, running, %failure, "the job could not be cancelled");
}

pub(super) fn not_listed(failure: &dyn Display) {
    warn!(%failure, "the worker cannot be listed for now");
}

pub(super) fn not_recorded(queue: &WorkQueue, failure: &dyn Display) {
    warn!(queue = queue.name(), %failure, "the history cannot be recorded for now");
}

pub(super) fn not_found(failure: &dyn Display) {
    error!(%failure, "queues cannot be looked for for now");
}

pub(super) fn too_many_queues(name: &str) {
    warn!(queue = name, "more queues match the patterns of the worker than it can serve");
}

pub(super) fn not_scheduled(queue: &WorkQueue, failure: &dyn Display) {
    error!(queue = queue.name(), %failure, "the schedules cannot be stored for now");
}
