//! The workers: processes in any language, controlled by lines on stdin.
//!
//! Workers for jobs have a handler instead, for the queue `QUEUE.jobs`, and are never told to hold.
//!
//! The command line of a worker is `COMMAND QUEUE RESULTS LEASE_MS BATCH`, with the URL in `LEASEQ_URL`. A
//! worker leases up to BATCH items for LEASE_MS each. For each item it computes the SHA-256 of the data,
//! appends a note to the file RESULTS, completes the item and appends another note; see `note.rs`.
//!
//! | line to stdin | the worker |
//! |---|---|
//! | `rest` | completes the leases that it holds, leases nothing more and prints `resting`. This is the initial state |
//! | `go` | completes the leases that it holds, and works |
//! | `hold` | waits for a batch and prints `holding N` (N is at least 1). It completes the others of the batch, prints `quiet`, and keeps the N leases until the next line |
//! | `quit`, or the end of the input | completes the leases that it holds, closes its client and exits with 0 |

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::wait::PATIENCE;
use crate::error::Error;

/// How long a lease lasts. After this time the items of a dead worker are back.
const LEASE: Duration = Duration::from_secs(1);
/// How many items a worker leases at once.
pub(super) const BATCH: usize = 8;

/// How to start a worker.
pub(super) struct Kind {
    pub(super) language: String,
    command: PathBuf,
    arguments: Vec<String>,
}

/// One worker for each entry of `others` (`LANGUAGE=COMMAND ARGUMENT…`, or `LANGUAGE/jobs=…` for one that runs
/// handlers), and further ones in Rust, at least three that lease items. The others come first: they are killed and
/// stopped. Those with handlers come last.
pub(super) fn fleet(others: &[String]) -> Result<Vec<Kind>, Error> {
    let (mut fleet, mut handlers) = (Vec::new(), Vec::new());
    for other in others {
        let (language, command) = other.split_once('=').unwrap_or_default();
        let mut words = command.split_whitespace().map(str::to_owned);
        match words.next() {
            Some(command) if !language.is_empty() => {
                let (language, list) = match language.strip_suffix("/jobs") {
                    Some(language) => (language, &mut handlers),
                    None => (language, &mut fleet),
                };
                list.push(Kind {
                    language: language.to_owned(),
                    command: command.into(),
                    arguments: words.collect(),
                });
            }
            _ => return Err(format!("{other:?} is not LANGUAGE=COMMAND").into()),
        }
    }
    // Built beside this program.
    let program = std::env::current_exe()?;
    let rust = |name: &str| Kind {
        language: "rust".into(),
        command: program.with_file_name(name),
        arguments: Vec::new(),
    };
    while fleet.len() < 3 {
        fleet.push(rust("demo-worker-rust"));
    }
    fleet.push(rust("demo-worker-handler"));
    fleet.extend(handlers);
    Ok(fleet)
}

pub(super) struct Worker {
    /// The number in the report, from 1.
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

    /// The name in the report.
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
