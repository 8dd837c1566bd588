//! The workers: processes in any language, told what to do by lines.
//!
//! A worker is started as `COMMAND QUEUE RESULTS LEASE_MS BATCH` with the queue's place in `LEASEQ_URL`.
//! It leases up to BATCH items for LEASE_MS each, and for each of them computes the SHA-256 of the
//! data, appends a note to the file RESULTS, completes it and appends another; see `note.rs`.
//!
//! | line to stdin | the worker |
//! |---|---|
//! | `rest` | completes what it was told to hold, leases nothing more and says `resting`. It begins like this |
//! | `go` | completes what it was told to hold, and works |
//! | `hold` | leases a batch, waiting for it, and says `holding N`, N at least 1: it completes the others of the batch, says `quiet`, and keeps those N until the next line comes |
//! | `quit`, or the end of the input | finishes what it holds, closes its client and exits with 0 |

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::Error;
use super::wait::PATIENCE;

/// How long a lease lasts: what a worker leaves behind is back after this.
const LEASE: Duration = Duration::from_secs(1);
/// How many items a worker takes at once.
pub(super) const BATCH: usize = 8;

/// How to start a worker.
pub(super) struct Kind {
    pub(super) language: String,
    command: PathBuf,
    arguments: Vec<String>,
}

/// One worker for each entry: `others`, given as `LANGUAGE=COMMAND ARGUMENT…`, and enough in Rust
/// that there are three at least. Others come first: they are killed and stopped.
pub(super) fn fleet(others: &[String]) -> Result<Vec<Kind>, Error> {
    let mut fleet = Vec::new();
    for other in others {
        let (language, command) = other.split_once('=').unwrap_or_default();
        let mut words = command.split_whitespace().map(str::to_owned);
        match words.next() {
            Some(command) if !language.is_empty() => fleet.push(Kind {
                language: language.to_owned(),
                command: command.into(),
                arguments: words.collect(),
            }),
            _ => return Err(format!("{other:?} is not LANGUAGE=COMMAND").into()),
        }
    }
    // Built beside this program.
    let mut command = std::env::current_exe()?;
    command.set_file_name("demo-worker-rust");
    for _ in 0..3_usize.saturating_sub(fleet.len()).max(1) {
        let language = "rust".to_owned();
        fleet.push(Kind { language, command: command.clone(), arguments: Vec::new() });
    }
    Ok(fleet)
}

pub(super) struct Worker {
    /// For people: from 1.
    pub(super) number: usize,
    pub(super) language: String,
    pub(super) results: PathBuf,
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    pub(super) fn start(
        number: usize,
        kind: &Kind,
        url: &str,
        queue: &str,
        folder: &Path,
    ) -> Result<Self, Error> {
        let results = folder.join(format!("worker-{number}-{}.jsonl", kind.language));
        let mut child = Command::new(&kind.command)
            .args(&kind.arguments)
            .arg(queue)
            .arg(&results)
            .args([LEASE.as_millis().to_string(), BATCH.to_string()])
            .env("LEASEQ_URL", url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", kind.command.display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a worker has no stdin or stdout".into());
        };
        let lines = BufReader::new(output).lines();
        Ok(Worker { number, language: kind.language.clone(), results, child, input, lines })
    }

    /// For people.
    pub(super) fn name(&self) -> String {
        format!("worker {} ({})", self.number, self.language)
    }

    pub(super) async fn tell(&mut self, order: &str) -> Result<(), Error> {
        let line = format!("{order}\n");
        let told = self.input.write_all(line.as_bytes()).await;
        told.map_err(|error| format!("{} cannot be told {order}: {error}", self.name()).into())
    }

    /// Waits for the line `word`, or `word N`; returns N, or 0.
    pub(super) async fn says(&mut self, word: &str) -> Result<u64, Error> {
        let line = match timeout(PATIENCE, self.lines.next_line()).await {
            Ok(line) => line?.ok_or_else(|| format!("{} has ended", self.name()))?,
            Err(_) => return Err(format!("{} does not say {word}", self.name()).into()),
        };
        match line.strip_prefix(word).map(str::trim) {
            Some("") => Ok(0),
            Some(number) => Ok(number.parse()?),
            None => Err(format!("{} says {line:?}, not {word}", self.name()).into()),
        }
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<(), Error> {
        let pid = self.child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let pid = pid.ok_or_else(|| format!("{} is gone", self.name()))?;
        Ok(kill_process(pid, signal)?)
    }

    /// Waits until the process has ended.
    pub(super) async fn ended(&mut self) -> Result<ExitStatus, Error> {
        let ended = timeout(PATIENCE, self.child.wait()).await;
        Ok(ended.map_err(|_| format!("{} does not end", self.name()))??)
    }
}
