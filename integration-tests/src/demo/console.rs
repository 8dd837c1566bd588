//! The web console, beside the workers.

use std::io::IsTerminal;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::next;
use super::wait::PATIENCE;
use crate::error::Error;

/// Starts it on a free port, and prints its address. It ends when the child is dropped.
pub(super) async fn start(url: &str, queue: &str) -> Result<Child, Error> {
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
    Ok(child)
}

/// On a terminal it waits for Enter: somebody may want to look before it goes on.
pub(super) async fn wait_for_enter(purpose: &str) -> Result<(), Error> {
    if std::io::stdin().is_terminal() {
        println!("press Enter to {purpose}");
        BufReader::new(tokio::io::stdin()).read_line(&mut String::new()).await?;
    }
    Ok(())
}
