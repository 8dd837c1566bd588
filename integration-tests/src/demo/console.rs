//! The web console, beside the workers.

use std::io::IsTerminal;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::next;
use super::wait::PATIENCE;
use crate::error::Error;

/// A running console. It ends when this is dropped.
pub(super) struct Console {
    _child: Child,
}

impl Console {
    /// Starts it on a free port, and prints its address. On a terminal it waits for Enter: somebody may want to open
    /// the page before the work begins.
    pub(super) async fn start(url: &str, queue: &str) -> Result<Console, Error> {
        let program = next::program().ok_or("there is no console: leaseq has not been built")?;
        let mut child = Command::new(&program)
            .args(["web", "--listen", "127.0.0.1:0"])
            .env("LEASEQ_URL", url)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        let output = child.stdout.take().ok_or("the console has no standard output")?;
        let mut lines = BufReader::new(output).lines();
        let line = timeout(PATIENCE, lines.next_line()).await.map_err(|_| "no console starts")?;
        println!("{}", line?.ok_or("the console has ended")?);
        println!("the queue is {queue}");
        Console { _child: child }.pauses("begin").await
    }

    /// On a terminal: waits for Enter.
    pub(super) async fn pauses(self, purpose: &str) -> Result<Console, Error> {
        if std::io::stdin().is_terminal() {
            println!("press Enter to {purpose}");
            let mut line = String::new();
            let mut input = BufReader::new(tokio::io::stdin());
            input.read_line(&mut line).await?;
        }
        Ok(self)
    }
}
