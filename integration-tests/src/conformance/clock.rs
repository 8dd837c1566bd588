//! The wall clock of servers and testees: `clock/clock.c`, preloaded into them, reads it from a file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::Error;

const REAL: i64 = 0;
const STANDS_STILL: i64 = 1;
const RUNS_AHEAD: i64 = 2;

/// The distance between the clocks of two scenarios. It can be short, because their queues differ.
const APART_MS: u64 = 1_000;

pub(crate) struct Clock {
    file: File,
    path: PathBuf,
    library: PathBuf,
    /// Milliseconds since 1970, or ahead of the real time. Never decreases.
    at: AtomicU64,
    runs: AtomicBool,
}

impl Clock {
    /// Compiles the library into this folder.
    pub(crate) fn new(folder: &Path) -> Result<Self, Error> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("clock/clock.c");
        let library = folder.join("clock.so");
        let compiled = Command::new("cc")
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .status()?;
        if !compiled.success() {
            return Err(format!("cannot compile {}", source.display()).into());
        }
        let path = folder.join("clock");
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        file.set_len(16)?;
        let clock = Clock { file, path, library, at: real_ms().into(), runs: false.into() };
        clock.tell(REAL, 0)?;
        Ok(clock)
    }

    /// The environment variables of a process with this clock.
    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [("LD_PRELOAD", self.library.clone()), ("LEASEQ_CLOCK", self.path.clone())]
    }

    /// Sets the clock for the next scenario: later than every time of the last one and than the real time.
    pub(super) fn begin(&self, runs: bool) -> Result<(), Error> {
        let now = self.now_ms().max(real_ms());
        self.runs.store(runs, Ordering::Relaxed);
        let next = now + APART_MS;
        self.at.store(if runs { next - real_ms() } else { next }, Ordering::Relaxed);
        self.advance(0)
    }

    pub(super) fn advance(&self, ms: u64) -> Result<(), Error> {
        let at = self.at.fetch_add(ms, Ordering::Relaxed) + ms;
        let mode = if self.runs.load(Ordering::Relaxed) { RUNS_AHEAD } else { STANDS_STILL };
        self.tell(mode, at as i64)
    }

    /// Milliseconds since 1970.
    pub(super) fn now_ms(&self) -> u64 {
        let at = self.at.load(Ordering::Relaxed);
        if self.runs.load(Ordering::Relaxed) { real_ms() + at } else { at }
    }

    /// The real time plus this offset, which may decrease. Do not combine with the other modes.
    pub(crate) fn run_ahead(&self, by_ms: i64) -> Result<(), Error> {
        self.tell(RUNS_AHEAD, by_ms)
    }

    fn tell(&self, mode: i64, ms: i64) -> Result<(), Error> {
        self.file.write_all_at(&[mode.to_ne_bytes(), ms.to_ne_bytes()].concat(), 0)?;
        Ok(())
    }
}

fn real_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
