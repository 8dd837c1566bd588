//! A `leaseq-cleaner` process, as operators run it.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::conformance::testee::beside;
use crate::error::Error;

/// How long starting and ending may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Cleaner {
    child: Child,
    /// The damage that it found until its end.
    complaints: JoinHandle<Vec<String>>,
}

impl Cleaner {
    /// Starts a cleaner that cleans continuously. It handles signals when this returns.
    pub(super) async fn start(url: &str) -> Result<Self, Error> {
        let program = beside("leaseq-cleaner")?;
        if !program.exists() {
            return Err(format!("there is no {}: build leaseq-cleaner", program.display()).into());
        }
        let mut child = Command::new(program)
            .env("LEASEQ_URL", url)
            .args(["--light-interval", "10ms", "--deep-interval", "1s", "--listen", "none"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(child.stderr.take().ok_or("no stderr")?).lines();
        let started = async {
            while let Some(line) = lines.next_line().await? {
                if line.contains("cleaner started") {
                    return Ok(());
                }
            }
            Err("a cleaner does not start".into())
        };
        timeout(PATIENCE, started).await.unwrap_or_else(|late| Err(Error::from(late)))?;
        Ok(Cleaner { child, complaints: tokio::spawn(complaints(lines)) })
    }

    /// Sends SIGTERM: the cleaner must exit with 0.
    pub(super) async fn stop(mut self) -> Result<(), Error> {
        let pid = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        kill_process(pid.ok_or("a cleaner has ended by itself")?, Signal::TERM)?;
        let status = timeout(PATIENCE, self.child.wait()).await;
        let status = status.map_err(|_| "a cleaner does not stop")??;
        if !status.success() {
            return Err(format!("a cleaner ended with {status}").into());
        }
        self.content().await
    }

    /// Ends it with SIGKILL.
    pub(super) async fn kill(mut self) -> Result<(), Error> {
        self.child.kill().await?;
        self.content().await
    }

    async fn content(self) -> Result<(), Error> {
        let complaints = self.complaints.await?;
        if complaints.is_empty() {
            return Ok(());
        }
        Err(format!("a cleaner complains: {}", complaints.join("; ")).into())
    }
}

async fn complaints(mut lines: Lines<BufReader<ChildStderr>>) -> Vec<String> {
    let mut found = Vec::new();
    while let Ok(Some(line)) = lines.next_line().await {
        // Errors are allowed here, because the server is slow.
        if line.contains(" WARN ") || line.contains("panicked") {
            found.push(line);
        }
    }
    found
}
