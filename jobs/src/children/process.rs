//! A process of the system: started in a group of its own, killed with the group, and reaped.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::memory;
use super::obituary::Obituary;

/// The variable in the environment of a child that has the process id of its worker.
const WORKER_VARIABLE: &str = "LEASEQ_WORKER_PID";

/// How much of the end of the standard error is kept.
const LAST_WORDS: usize = 2048;
/// How long the end of the standard error is awaited: a process outside of the group may keep it open.
const LISTENING: Duration = Duration::from_millis(200);

/// The process id, as long as it cannot belong to another process.
type Alive = Arc<Mutex<Option<Pid>>>;

/// A running process. It is killed when this is dropped.
pub(super) struct Process {
    alive: Alive,
    exited: watch::Receiver<Option<ExitStatus>>,
    last_words: Arc<Mutex<VecDeque<u8>>>,
    listening: JoinHandle<()>,
    oom_kills: Option<u64>,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        self.listening.abort();
    }
}

impl Process {
    /// Starts a program, which finds this socket as its standard input: that needs no code between fork and exec.
    pub(super) async fn start(mut command: Command, socket: OwnedFd) -> io::Result<Process> {
        command
            .process_group(0)
            .stdin(Stdio::from(socket))
            .stderr(Stdio::piped())
            .env(WORKER_VARIABLE, std::process::id().to_string());
        let oom_kills = memory::oom_kills();
        let alive = Alive::default();
        let (exit, exited) = watch::channel(None);
        let (answer, started) = oneshot::channel();
        let thread = std::thread::Builder::new().name("leaseq-child".to_owned());
        thread.spawn({
            let alive = alive.clone();
            move || live(command, &alive, answer, &exit)
        })?;
        let stderr = started.await.map_err(io::Error::other)??;
        let last_words = Arc::default();
        let listening = tokio::spawn(listen(stderr, Arc::clone(&last_words)));
        Ok(Process { alive, exited, last_words, listening, oom_kills })
    }

    /// Kills its group.
    pub(super) fn kill(&self) {
        if let Some(group) = *lock(&self.alive) {
            // It may have ended by itself.
            _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// Its process id, as long as it lives.
    pub(super) fn pid(&self) -> Option<Pid> {
        *lock(&self.alive)
    }

    /// Returns when it has ended, and with it its group.
    pub(super) async fn exited(&self) -> ExitStatus {
        let mut exited = self.exited.clone();
        match exited.wait_for(Option::is_some).await {
            Ok(status) => status.unwrap_or_default(),
            // The thread has panicked.
            Err(_) => ExitStatus::default(),
        }
    }

    /// Kills it, and returns when it has ended.
    pub(super) async fn end(&self) {
        self.kill();
        self.exited().await;
    }

    /// How it has ended.
    pub(super) async fn obituary(&mut self) -> Obituary {
        let status = self.exited().await;
        let oom_killed = memory::oom_kills() > self.oom_kills;
        // Its last lines may still be in the pipe.
        _ = tokio::time::timeout(LISTENING, &mut self.listening).await;
        let words: Vec<u8> = lock(&self.last_words).iter().copied().collect();
        let last_words = String::from_utf8_lossy(&words).trim().to_owned();
        Obituary { status, oom_killed, last_words }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The life of a process, on a thread of its own: a child may have asked the system to end with its parent, and for
/// Linux the thread that started it is the parent.
fn live(
    mut command: Command,
    alive: &Mutex<Option<Pid>>,
    started: oneshot::Sender<io::Result<ChildStderr>>,
    exit: &watch::Sender<Option<ExitStatus>>,
) {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            _ = started.send(Err(error));
            return;
        }
    };
    // The child has its own copy of the socket; with this one the worker would not see that it was closed.
    drop(command);
    let pid = Pid::from_child(&child);
    *lock(alive) = Some(pid);
    let stderr = child.stderr.take().ok_or_else(|| io::Error::other("no standard error"));
    if started.send(stderr).is_err() {
        _ = kill_process_group(pid, Signal::KILL);
    }
    // Until it is reaped, its number stays its own.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
    // What it has started ends with it.
    let mut alive = lock(alive);
    _ = kill_process_group(pid, Signal::KILL);
    *alive = None;
    drop(alive);
    exit.send_replace(Some(child.wait().unwrap_or_default()));
}

/// Passes on what a process writes to its standard error, and keeps the end.
async fn listen(stderr: ChildStderr, last_words: Arc<Mutex<VecDeque<u8>>>) {
    let Ok(mut stderr) = pipe::Receiver::from_owned_fd(stderr.into()) else { return };
    let mut here = tokio::io::stderr();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        {
            let mut words = lock(&last_words);
            words.extend(&chunk[..count]);
            let surplus = words.len().saturating_sub(LAST_WORDS);
            words.drain(..surplus);
        }
        // A closed standard error of the worker is no reason to end its children.
        _ = here.write_all(&chunk[..count]).await;
    }
}
