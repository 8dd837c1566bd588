//! Histories with one violation each: the checker finds it.

use std::collections::BTreeMap;

use super::checker::check;
use super::history::{History, Job, Left, Limits, MS, Run, Worker};

const SECOND: u64 = 1_000 * MS;

fn job(id: &str) -> Job {
    Job { id: id.into(), max_attempts: 5, ..Job::default() }
}

fn run(id: &str, attempt: u32, start_ms: u64, end_ms: u64) -> Run {
    let (start, end) = (SECOND + start_ms * MS, Some(SECOND + end_ms * MS));
    Run { worker: 0, id: id.into(), attempt, start, end, told: None, over: Vec::new() }
}

fn left(state: &str) -> Left {
    Left { state: state.into(), ..Left::default() }
}

fn completed(id: &str) -> Left {
    Left { result: Some(format!("\"{id}\"")), ..left("completed") }
}

/// A job that failed once, and was completed after its delay.
fn sound() -> History {
    let a = Job { retry_after: Some(50 * MS), key: Some("k"), ..job("a") };
    History {
        jobs: vec![a],
        runs: vec![run("a", 1, 0, 10), run("a", 2, 60, 70)],
        workers: vec![Worker::default(), Worker::default()],
        windows: Vec::new(),
        left: BTreeMap::from([("a".to_owned(), completed("a"))]),
        limits: Limits { slots: 2, key: 1, by_locks: false },
    }
}

#[track_caller]
fn finds(what: &str, plant: impl FnOnce(&mut History)) {
    let mut history = sound();
    plant(&mut history);
    let found = check(&history);
    assert!(
        found.len() == 1 && found[0].contains(what),
        "{what:?} is not what it finds: {found:?}"
    );
}

#[track_caller]
fn allows(plant: impl FnOnce(&mut History)) {
    let mut history = sound();
    plant(&mut history);
    assert_eq!(check(&history), [""; 0]);
}

#[test]
fn a_sound_history_is_sound() {
    allows(|_| {});
}

#[test]
fn every_job_has_ended_or_is_there() {
    finds("is lost", |history| history.left.clear());
    finds("still ready", |history| _ = history.left.insert("a".into(), left("ready")));
    finds("still held", |history| _ = history.left.insert("a".into(), left("held")));
    finds("still cancelled", |history| _ = history.left.insert("a".into(), left("cancelled")));
    finds("never added", |history| history.runs.push(run("b", 1, 200, 210)));
    finds("no handler has ended", |history| history.runs.clear());
    finds("another result", |history| {
        _ = history.left.insert("a".into(), Left { result: None, ..completed("a") });
    });
    finds("before its last attempt", |history| {
        _ = history.left.insert("a".into(), Left { failures: 4, ..left("dead") });
    });
    allows(|history| {
        _ = history.left.insert("a".into(), Left { failures: 3, expiries: 2, ..left("dead") });
    });
}

#[test]
fn a_retry_waits_for_its_delay() {
    finds("wait for its delay", |history| history.runs[1] = run("a", 2, 57, 70));
    // It was interrupted, not failed.
    allows(|history| {
        history.runs[0].told = Some(("shutdown".into(), SECOND));
        history.runs[1] = run("a", 1, 11, 70);
    });
}

#[test]
fn no_job_overlaps_its_own_retry() {
    let overlaps = |history: &mut History| {
        history.jobs[0].retry_after = None;
        history.jobs[0].key = None;
        history.runs[0].end = Some(SECOND + 65 * MS);
    };
    finds("two runs overlap", overlaps);
    // Its process was stopped, and so lost the lease.
    allows(|history| {
        overlaps(history);
        history.workers[0].stops.push((SECOND + 5 * MS, SECOND + 40 * MS));
    });
    finds("two runs overlap", |history| {
        overlaps(history);
        history.workers[0].stops.push((SECOND + 66 * MS, SECOND + 68 * MS));
    });
    // It ended with its process.
    allows(|history| {
        overlaps(history);
        history.runs[0].end = None;
        history.workers[0].ended = Some(SECOND + 20 * MS);
        history.runs[1].worker = 1;
    });
}

#[test]
fn attempts_are_counted_but_not_by_shutdowns() {
    let interrupt = |history: &mut History| {
        history.runs[0].told = Some(("shutdown".into(), SECOND));
    };
    finds("used an attempt", interrupt);
    allows(|history| {
        interrupt(history);
        history.runs[1].attempt = 1;
    });
    finds("forgotten", |history| history.runs[0].attempt = 3);
    // The second run is by a worker of its own, which was away until then, or only before.
    let away = |history: &mut History, until| {
        (history.runs[0].attempt, history.runs[1].attempt) = (2, 1);
        history.runs[1].worker = 1;
        history.workers[1].stops.push((0, until));
    };
    finds("forgotten", |history| away(history, SECOND - MS));
    allows(|history| away(history, SECOND + 55 * MS));
    finds("attempt 6 of 5", |history| history.runs[1].attempt = 6);
}

#[test]
fn slots_and_keys_are_limits() {
    let more = |history: &mut History, key, worker| {
        for (id, start) in [("b", 3), ("c", 5)] {
            history.jobs.push(Job { key, ..job(id) });
            history.runs.push(Run { worker, ..run(id, 1, start, 8) });
            history.left.insert(id.into(), completed(id));
        }
    };
    finds("worker 0 ran 3 handlers", |history| more(history, None, 0));
    allows(|history| more(history, None, 1));
    finds("3 handlers of key k", |history| more(history, Some("k"), 1));
}

/// A killed child logs no end, and its locks say whether it lived.
#[test]
fn children_watch_limits_by_locks() {
    let killed = |history: &mut History| {
        history.limits.by_locks = true;
        history.jobs[0].retry_after = None;
        history.runs[0].end = None;
        history.jobs[0].cancelled = None;
    };
    allows(killed);
    for what in ["job", "slot", "key"] {
        let over = |history: &mut History| {
            killed(history);
            history.runs[1].over.push((what.into(), SECOND + 60 * MS));
        };
        finds(&format!("than its {what} allows"), over);
        // A worker was stopped, and its child went on without the lease.
        allows(|history| {
            over(history);
            history.workers[1].stops.push((SECOND + 5 * MS, SECOND + 40 * MS));
        });
    }
    finds("two runs overlap", |history| {
        killed(history);
        history.runs[0].end = Some(SECOND + 65 * MS);
    });
    finds("no handler has ended", |history| {
        killed(history);
        history.runs[1].end = None;
    });
}

#[test]
fn a_cancellation_arrives() {
    let cancel = |history: &mut History| {
        history.jobs[0] = job("a");
        history.left.clear();
        history.runs = vec![run("a", 1, 0, 9_000)];
        history.jobs[0].cancelled = Some(SECOND + 10 * MS);
    };
    finds("not told", cancel);
    allows(|history| {
        cancel(history);
        history.runs[0].told = Some(("user".into(), SECOND + 5_000 * MS));
    });
    finds("started after", |history| {
        cancel(history);
        history.runs[0] = run("a", 1, 3_000, 3_001);
    });
    finds("although it was cancelled", |history| {
        history.jobs[0].cancelled = Some(SECOND);
        history.left.insert("a".into(), Left { failures: 5, ..left("dead") });
    });
}

#[test]
fn what_no_worker_knows_waits() {
    let unknown = |state: &str, failures, releases| {
        let state = Left { failures, releases, ..left(state) };
        move |history: &mut History| {
            history.jobs[0].is_unknown = true;
            history.runs.clear();
            history.left.insert("a".into(), state);
        }
    };
    allows(unknown("delayed", 0, 2));
    finds("using an attempt", unknown("delayed", 1, 2));
    let expired = |history: &mut History| {
        unknown("delayed", 0, 2)(history);
        history.left.insert("a".into(), Left { expiries: 1, releases: 2, ..left("delayed") });
    };
    finds("using an attempt", expired);
    allows(|history| {
        expired(history);
        history.workers[0].abrupt = true;
    });
    finds("using an attempt", unknown("delayed", 0, 0));
    finds("within a day", unknown("dead", 0, 2));
    finds("although no worker knows it", |history| {
        unknown("delayed", 0, 2)(history);
        history.runs.push(run("a", 1, 0, 1));
    });
}
