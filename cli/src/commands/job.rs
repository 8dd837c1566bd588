//! A command that runs for an item, in a process group of its own.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use leaseq::Lease;
use leaseq::options::MAX_ERROR_TEXT;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, Command};
use tokio::task::JoinHandle;

use crate::guard::Guard;
use crate::launch;
use crate::stop::Stop;

/// How long a command may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// How long to wait for the rest of standard error after the command has ended.
const REST: Duration = Duration::from_secs(1);

/// How a command has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum JobEnd {
    Done,
    Failed(String),
    /// There is no such command.
    NotStarted(String),
    /// The lease was lost.
    Lost,
    /// The item was cancelled.
    Cancelled,
    /// `leaseq work` was stopped.
    Stopped,
}

pub(crate) struct Job<'a> {
    child: Child,
    group: Pid,
    guard: &'a Guard,
    feed: JoinHandle<()>,
    errors: JoinHandle<()>,
    last: Arc<Mutex<LastLine>>,
}

impl<'a> Job<'a> {
    pub(crate) fn start(
        command: &[OsString],
        lease: &Lease,
        guard: &'a Guard,
    ) -> std::io::Result<Job<'a>> {
        let mut started = Command::new(launch::this_program()?);
        started.args([launch::COMMAND, "--"]).args(command).process_group(0).kill_on_drop(true);
        started
            .env("LEASEQ_QUEUE", lease.queue())
            .env("LEASEQ_ATTEMPT", lease.attempt().to_string());
        started.env("LEASEQ_ID_BASE64", BASE64_STANDARD.encode(lease.id()));
        if lease.id().contains(&0) {
            started.env_remove("LEASEQ_ID");
        } else {
            started.env("LEASEQ_ID", OsStr::from_bytes(lease.id()));
        }
        let mut child = started.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let group = group.ok_or(std::io::ErrorKind::NotFound)?;
        // Only then may it begin.
        guard.add(group);
        let last = Arc::new(Mutex::new(LastLine::default()));
        let feed = tokio::spawn(feed(child.stdin.take(), lease.data().clone()));
        let errors = tokio::spawn(pass_on(child.stderr.take(), last.clone()));
        Ok(Job { child, group, guard, feed, errors, last })
    }

    pub(crate) async fn run(
        mut self,
        lease: &Lease,
        timeout: Option<Duration>,
        stop: &Stop,
    ) -> JobEnd {
        let cancelled = async {
            // False: it cannot be cancelled any more.
            if !lease.cancelled().await {
                std::future::pending::<()>().await;
            }
        };
        let late = async {
            match timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let end = tokio::select! {
            status = self.child.wait() => Ok(status),
            () = lease.lost() => Err(JobEnd::Lost),
            () = cancelled => Err(JobEnd::Cancelled),
            () = stop.forced() => Err(JobEnd::Stopped),
            () = late => {
                let after = leaseq_report::duration::show(timeout.unwrap_or_default());
                Err(JobEnd::Failed(format!("killed after the timeout of {after}")))
            }
        };
        if let Err(end) = &end {
            self.kill(*end != JobEnd::Lost).await;
        }
        // Also what the command has left behind: it would go on without a lease.
        let _ = kill_process_group(self.group, Signal::KILL);
        self.guard.remove(self.group);
        self.feed.abort();
        let _ = tokio::time::timeout(REST, &mut self.errors).await;
        self.errors.abort();
        match end {
            Err(end) => end,
            Ok(Ok(status)) if status.success() => JobEnd::Done,
            Ok(status) => self.failure(status),
        }
    }

    /// Ends the process group; politely, another worker may not have the item yet.
    async fn kill(&mut self, politely: bool) {
        if politely {
            let _ = kill_process_group(self.group, Signal::TERM);
            if tokio::time::timeout(GRACE, self.child.wait()).await.is_ok() {
                return;
            }
        }
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait().await;
    }

    fn failure(&self, status: std::io::Result<ExitStatus>) -> JobEnd {
        let code = status.as_ref().ok().and_then(ExitStatus::code);
        let error = self.error(status);
        match error.strip_prefix(launch::WHY) {
            Some(why) if code == Some(launch::NOT_STARTED.into()) => JobEnd::NotStarted(why.into()),
            _ => JobEnd::Failed(error),
        }
    }

    /// The last line of standard error, or else how it ended.
    fn error(&self, status: std::io::Result<ExitStatus>) -> String {
        let line = self.last.lock().unwrap_or_else(PoisonError::into_inner).text();
        let how = match status.map(|status| (status.code(), status.signal())) {
            Ok((Some(code), _)) => format!("exit status {code}"),
            Ok((None, Some(signal))) => return format!("killed by signal {signal}"),
            Ok((None, None)) => "ended".into(),
            Err(error) => error.to_string(),
        };
        if line.is_empty() { how } else { line }
    }
}

/// Writes the data. The command may end without reading it.
async fn feed(stdin: Option<ChildStdin>, data: Bytes) {
    if let Some(mut stdin) = stdin
        && stdin.write_all(&[launch::GO]).await.is_ok()
    {
        let _ = stdin.write_all(&data).await;
    }
}

/// Passes standard error on, and keeps its last line.
async fn pass_on(stderr: Option<ChildStderr>, last: Arc<Mutex<LastLine>>) {
    let Some(mut stderr) = stderr else { return };
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        let bytes = &buffer[..count];
        last.lock().unwrap_or_else(PoisonError::into_inner).add(bytes);
        // If nobody reads it, it does not matter.
        let _ = std::io::stderr().write_all(bytes);
    }
}

/// The last line of a stream that is not empty, within the limit of an error.
#[derive(Debug, Default)]
struct LastLine {
    line: Vec<u8>,
    /// Whether the next byte begins another line.
    ended: bool,
}

impl LastLine {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if matches!(byte, b'\n' | b'\r') {
                self.ended = true;
            } else {
                if self.ended && !byte.is_ascii_whitespace() {
                    self.line.clear();
                    self.ended = false;
                }
                if !self.ended && self.line.len() < MAX_ERROR_TEXT {
                    self.line.push(*byte);
                }
            }
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.line).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::LastLine;

    #[test]
    fn the_last_line_with_text_is_kept() {
        for (parts, last) in [
            (&["first\nlast\n\n"][..], "last"),
            (&["fir", "st\nla", "st"], "last"),
            (&["only"], "only"),
            (&["10%\r20%\r", "30%\r\n  \n"], "30%"),
            (&["\n\n"], ""),
            (&[], ""),
        ] {
            let mut line = LastLine::default();
            parts.iter().for_each(|part| line.add(part.as_bytes()));
            assert_eq!(line.text(), last, "{parts:?}");
        }
        let mut line = LastLine::default();
        (0..1_000).for_each(|_| line.add(&[b'x'; 1_000]));
        assert_eq!(line.text().len(), 1_024);
    }
}
