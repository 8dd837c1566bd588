//! The printed report of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::jobs::Summary;

pub(super) struct Screen {
    pub(super) files: usize,
    pub(super) bytes: usize,
    pub(super) skipped: usize,
    /// The language of each worker, and how many items it completed.
    pub(super) workers: Vec<(String, usize)>,
    /// The killed worker, and how many leases it held.
    pub(super) killed: (String, u64),
    /// The stopped worker, and how many leases it held.
    pub(super) stopped: (String, u64),
    /// How many of the stopped worker's late completes were true, and false.
    pub(super) late: (usize, usize),
    pub(super) jobs: Summary,
    pub(super) expired: u64,
    pub(super) took: Duration,
    pub(super) engine: String,
}

impl fmt::Display for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut languages: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (language, completed) in &self.workers {
            languages.entry(language).or_default().push(*completed);
        }
        let mut line = |name: &str, text: String| writeln!(f, "  {name:<13}{text}");
        let kib = self.bytes.div_ceil(1024);
        let skipped = format!("{} over 8 MiB skipped", self.skipped);
        line("items", format!("{} files of this source tree, {kib} KiB; {skipped}", self.files))?;
        for (language, completed) in languages {
            let sum: usize = completed.iter().sum();
            let each: Vec<String> = completed.iter().map(usize::to_string).collect();
            let processes = completed.len();
            let each = each.join(" + ");
            let text = match processes {
                1 => format!("{language} {sum}"),
                _ => format!("{language} {sum} ({processes} processes: {each})"),
            };
            line("completions", text)?;
        }
        let (who, held) = &self.killed;
        line("killed", format!("{who}, holding at least {held} leases"))?;
        let (who, held) = &self.stopped;
        let (yes, no) = self.late;
        let late = format!("its late completes: {yes} true, {no} false");
        line("stopped", format!("{who}, past the end of at least {held} leases; {late}"))?;
        let Summary { jobs, retried, scheduled } = self.jobs;
        let text = format!("{jobs} of the files, {retried} retried; the schedule ran {scheduled}");
        line("jobs", text)?;
        line("expiries", self.expired.to_string())?;
        let seconds = self.took.as_secs_f64();
        let rate = self.files as f64 / seconds;
        line("time", format!("{seconds:.1} s, {rate:.0} items/s"))?;
        line("engine", self.engine.clone())
    }
}
