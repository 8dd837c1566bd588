//! Whether a history of jobs is what workers promise. Pure code: its tests plant a violation for each rule.

use std::collections::BTreeMap;

use super::history::{History, Job, MS, Micros, Run};
use super::load::CANCELLED_WITHIN;

/// Clocks of the server and of handlers have steps of a millisecond.
const STEP: Micros = 2 * MS;
/// How long a child may go on when its worker has learned that the lease is lost, and what a busy machine adds.
const WITHOUT_LEASE: Micros = 5_000 * MS;
/// How long a job that was leased before its cancellation may take to start.
const STARTING: Micros = 2_000 * MS;

/// What is wrong.
pub(super) fn check(history: &History) -> Vec<String> {
    let mut faults = Vec::new();
    let mut by_id: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    for run in &history.runs {
        by_id.entry(&run.id).or_default().push(run);
    }
    by_id.values_mut().for_each(|runs| runs.sort_by_key(|run| run.start));
    for job in &history.jobs {
        let runs = by_id.remove(job.id.as_str()).unwrap_or_default();
        let wrong = [
            end(history, job, &runs),
            attempts(history, job, &runs),
            cancelled(history, job, &runs),
        ];
        for what in wrong.into_iter().flatten() {
            faults.push(format!("{}: {what}\n{}", job.id, history.of(&job.id)));
        }
    }
    faults.extend(by_id.keys().map(|id| format!("{id} ran and was never added")));
    match history.limits.by_locks {
        true => faults.extend(locks(history)),
        false => faults.extend(slots(history).into_iter().chain(keys(history))),
    }
    faults
}

/// Every job has ended, or is still in the queue.
fn end(history: &History, job: &Job, runs: &[&Run]) -> Option<String> {
    let Some(left) = history.left.get(&job.id) else {
        return job.cancelled.is_none().then(|| "it is lost".into());
    };
    let counted = left.failures + left.expiries;
    match left.state.as_str() {
        "completed" if runs.iter().all(|run| run.end.is_none()) => {
            Some("it is completed, and no handler has ended".into())
        }
        "completed" if left.result != Some(format!("{:?}", job.id)) => {
            Some("it has another result than its handler returns".into())
        }
        "completed" => None,
        "dead" if job.cancelled.is_some() => Some("it is dead, although it was cancelled".into()),
        "dead" if job.is_unknown => Some("it is dead within a day".into()),
        "dead" if !job.buries && counted < u64::from(job.max_attempts) => {
            Some("it is dead before its last attempt".into())
        }
        "dead" => None,
        "cancelled" if job.cancelled.is_some() => None,
        "ready" | "delayed" | "leased" if job.is_unknown => {
            // A worker that dies or stops while it looks at the job lets its lease expire.
            let is_calm = history.windows.is_empty()
                && history.workers.iter().all(|one| !one.abrupt && one.stops.is_empty());
            let unreleased = left.releases == 0 && left.state == "delayed";
            (left.failures > 0 || is_calm && (left.expiries > 0 || unreleased)).then(|| {
                "no worker knows it, and it was not released without using an attempt".into()
            })
        }
        state => Some(format!("it is still {state}")),
    }
}

fn attempts(history: &History, job: &Job, runs: &[&Run]) -> Option<String> {
    if job.is_unknown && !runs.is_empty() {
        return Some("it ran, although no worker knows it".into());
    }
    if let Some(run) = runs.iter().find(|run| run.attempt > job.max_attempts) {
        return Some(format!("attempt {} of {}", run.attempt, job.max_attempts));
    }
    runs.windows(2).find_map(|pair| {
        let [first, second] = pair else { return None };
        let ended = history.end_of(first);
        let is_known = first.end.is_some() || !history.limits.by_locks;
        if is_known && second.start < ended && !is_excused(history, first, second.start) {
            return Some("two runs overlap".into());
        }
        // A worker that was stopped may start what another one has already.
        let is_late = was_away(history, second.worker, first.start, second.start);
        if second.attempt < first.attempt && !is_late {
            return Some("an attempt was forgotten".into());
        }
        let told = first.told.as_ref().map(|(reason, _)| reason.as_str());
        // An abrupt end costs jobs attempts that were leased and not started.
        let abrupt = history.workers.iter().filter(|worker| worker.abrupt);
        let mut ends = abrupt.filter_map(|worker| worker.ended);
        let is_calm = !ends.any(|at| at >= first.start) && history.windows.is_empty();
        if told == Some("shutdown") && is_calm && second.attempt != first.attempt {
            return Some("a shutdown has used an attempt".into());
        }
        let after = job.retry_after.filter(|_| told.is_none())?;
        (first.end.is_some_and(|end| second.start + STEP < end + after))
            .then(|| "a retry did not wait for its delay".into())
    })
}

fn cancelled(history: &History, job: &Job, runs: &[&Run]) -> Option<String> {
    let at = job.cancelled?;
    let late =
        runs.iter().any(|run| run.start > at + STARTING && !is_excused(history, run, run.start));
    if late {
        return Some("it was started after its cancellation".into());
    }
    let unheard = runs.iter().any(|run| {
        let told = run.told.as_ref().map_or(Micros::MAX, |(_, at)| *at);
        // A child that is killed cannot tell.
        let is_known = run.end.is_some() || !history.limits.by_locks;
        let stopped = told.min(if is_known { history.end_of(run) } else { run.start });
        run.start <= at && stopped > at + CANCELLED_WITHIN && !is_excused(history, run, stopped)
    });
    unheard.then(|| "its handler was not told of the cancellation".into())
}

/// Whether the run may go on without its lease: its process was stopped before then, or the server did not answer.
fn is_excused(history: &History, run: &Run, until: Micros) -> bool {
    was_away(history, run.worker, run.start, until)
}

/// Whether a worker was stopped in this time, or the server did not answer.
fn was_away(history: &History, worker: usize, since: Micros, until: Micros) -> bool {
    let stops = history.workers[worker].stops.iter();
    stops.chain(&history.windows).any(|(from, to)| *from <= until && *to >= since)
}

/// What runs in children have found. A child whose worker was stopped, or could not reach the server, may go on for a
/// while without its lease.
fn locks(history: &History) -> Vec<String> {
    let is_excused = |at: Micros| {
        let stops = history.workers.iter().flat_map(|worker| &worker.stops);
        stops.chain(&history.windows).any(|(from, to)| *from <= at && at <= *to + WITHOUT_LEASE)
    };
    let mut faults = Vec::new();
    for run in &history.runs {
        for (what, _) in run.over.iter().filter(|(_, at)| !is_excused(*at)) {
            let of = history.of(&run.id);
            faults.push(format!("{}: more ran at once than its {what} allows\n{of}", run.id));
        }
    }
    faults
}

fn slots(history: &History) -> Vec<String> {
    let mut runs: BTreeMap<usize, Vec<&Run>> = BTreeMap::new();
    for run in &history.runs {
        runs.entry(run.worker).or_default().push(run);
    }
    let most = |runs: &[&Run]| most_at_once(history, runs);
    let over = runs.into_iter().map(|(worker, runs)| (worker, most(&runs)));
    over.filter(|(_, most)| *most > history.limits.slots)
        .map(|(worker, most)| format!("worker {worker} ran {most} handlers at once"))
        .collect()
}

fn keys(history: &History) -> Vec<String> {
    let keys: BTreeMap<&str, &str> =
        history.jobs.iter().filter_map(|job| Some((job.id.as_str(), job.key?))).collect();
    let mut runs: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    for run in &history.runs {
        // One that has lost its lease does not count.
        if let Some(key) =
            keys.get(run.id.as_str()).filter(|_| !is_excused(history, run, history.end_of(run)))
        {
            runs.entry(key).or_default().push(run);
        }
    }
    let over = runs.into_iter().map(|(key, runs)| (key, most_at_once(history, &runs)));
    over.filter(|(_, most)| *most > history.limits.key)
        .map(|(key, most)| format!("{most} handlers of key {key} ran at once"))
        .collect()
}

fn most_at_once(history: &History, runs: &[&Run]) -> usize {
    // An end before a start at the same time.
    let starts = runs.iter().map(|run| (run.start, 1));
    let mut changes: Vec<(Micros, i64)> =
        runs.iter().map(|run| (history.end_of(run), -1)).chain(starts).collect();
    changes.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    usize::try_from(most).unwrap_or(0)
}
