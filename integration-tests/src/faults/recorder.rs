//! Records the history during the run.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::history::{History, ServerClock, Time};

pub(super) struct Recorder {
    start: Instant,
    /// The wall clock at the begin of the run, in ms.
    wall_ms: u64,
    history: Mutex<History>,
    /// Problems that do not follow from the history.
    faults: Mutex<Vec<String>>,
}

impl Recorder {
    pub(super) fn new() -> Self {
        Recorder {
            start: Instant::now(),
            wall_ms: wall_ms(),
            history: Mutex::default(),
            faults: Mutex::default(),
        }
    }

    pub(super) fn now(&self) -> Time {
        self.start.elapsed()
    }

    pub(super) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a problem that does not follow from the history.
    pub(super) fn fault(&self, what: String) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// Operations that were executed from then to now may be lost or repeated.
    pub(super) fn window_since(&self, from: Time) {
        let now = self.now();
        self.history().windows.push((from, now));
    }

    /// Returns the history and the problems at the end.
    pub(super) fn finish(&self, clock_jumps: bool) -> (History, Vec<String>) {
        let mut history = std::mem::take(&mut *self.history());
        let now_ms = self.wall_ms + self.start.elapsed().as_millis() as u64;
        // If somebody has set the clock of this machine, it proves nothing.
        let is_steady = now_ms.abs_diff(wall_ms()) < 20;
        if is_steady && !clock_jumps {
            history.clock = ServerClock::Runs { from_ms: self.wall_ms };
        }
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner).split_off(0);
        (history, faults)
    }
}

fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
