//! A process of the system: started in a group of its own, killed with the group, and reaped.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::obituary::Obituary;
use super::standard_error::{LastWords, listen};
use super::system;
use crate::JobError;

/// The variable in the environment of a child that has the process id of its worker.
const WORKER_VARIABLE: &str = "LEASEQ_WORKER_PID";

/// How long the end of the standard error is awaited: a process outside of the group may keep it open.
const LISTENING: Duration = Duration::from_millis(200);

/// How often it is looked whether a process is dead whose parent is another one.
const LOOK: Duration = Duration::from_millis(2);
/// How long the system may take to end such a process.
const DYING: Duration = Duration::from_secs(1);

/// A process and its group, which is killed when this is dropped.
struct Group(Alive);

/// The process id, as long as it cannot belong to another process.
type Alive = Arc<Mutex<Option<Pid>>>;

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Group {
    fn kill(&self) {
        if let Some(group) = *lock(&self.0) {
            kill_group(group);
        }
    }
}

/// A running process. It is killed when this is dropped.
pub(super) struct Process {
    group: Group,
    exited: watch::Receiver<Option<ExitStatus>>,
    last_words: LastWords,
    listening: JoinHandle<()>,
    /// See [`Process::begin_job`].
    oom_kills: Option<u64>,
    was_killed: AtomicBool,
}

impl Drop for Process {
    fn drop(&mut self) {
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
        // If this future is dropped, the process is killed.
        let group = Group(Alive::default());
        let alive = group.0.clone();
        let (exit, exited) = watch::channel(None);
        let (answer, started) = oneshot::channel();
        let thread = std::thread::Builder::new().name("leaseq-child".to_owned());
        thread.spawn(move || live(command, &alive, answer, &exit))?;
        let stderr = started.await.map_err(io::Error::other)??;
        let last_words = LastWords::default();
        let listening = tokio::spawn(listen(stderr, last_words.clone()));
        let was_killed = AtomicBool::new(false);
        let oom_kills = system::oom_kills();
        Ok(Process { group, exited, last_words, listening, oom_kills, was_killed })
    }

    /// From now on it is looked whether the system kills for want of memory, and what it says last is about this job.
    pub(super) fn begin_job(&mut self) {
        self.oom_kills = system::oom_kills();
        self.last_words.clear();
    }

    /// Its process id, as long as it lives.
    pub(super) fn pid(&self) -> Option<Pid> {
        *lock(&self.group.0)
    }

    /// Returns when it has ended. Its group has been killed then.
    pub(super) async fn exited(&self) -> ExitStatus {
        let mut exited = self.exited.clone();
        match exited.wait_for(Option::is_some).await {
            Ok(status) => status.unwrap_or_default(),
            // The thread has panicked.
            Err(_) => ExitStatus::default(),
        }
    }

    /// Kills it, and returns when it has ended.
    pub(super) async fn kill(&self) {
        if self.pid().is_some() {
            self.was_killed.store(true, Ordering::Relaxed);
            self.group.kill();
        }
        self.exited().await;
    }

    /// Whether a signal has ended it that was not this worker's.
    pub(super) async fn was_killed_by_others(&self) -> bool {
        let status = self.exited().await;
        status.signal().is_some() && !self.was_killed.load(Ordering::Relaxed)
    }

    /// How it has ended.
    pub(super) async fn obituary(&mut self) -> Obituary {
        let status = self.exited().await;
        let oom_killed = match (self.oom_kills, system::oom_kills()) {
            (Some(before), Some(now)) => now > before && !self.was_killed.load(Ordering::Relaxed),
            _ => false,
        };
        // Its last lines may still be in the pipe.
        _ = tokio::time::timeout(LISTENING, &mut self.listening).await;
        Obituary { status, oom_killed, last_words: self.last_words.text() }
    }

    /// The error of a job whose process has ended well without an answer, while this one lives.
    pub(super) fn ended_silently(&self) -> JobError {
        let (status, last_words) = (ExitStatus::default(), self.last_words.text());
        Obituary { status, oom_killed: false, last_words }.error()
    }
}

/// Kills a process group.
pub(super) fn kill_group(group: Pid) {
    // It may have ended by itself.
    _ = kill_process_group(group, Signal::KILL);
}

/// Waits until a process is dead that was killed and has another parent.
pub(super) async fn until_dead(pid: Pid) {
    let dying = async {
        while system::is_alive(pid) {
            tokio::time::sleep(LOOK).await;
        }
    };
    _ = tokio::time::timeout(DYING, dying).await;
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
        kill_group(pid);
    }
    // Until it is reaped, its number stays its own.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
    // What it has started ends with it.
    let mut alive = lock(alive);
    kill_group(pid);
    *alive = None;
    drop(alive);
    exit.send_replace(Some(child.wait().unwrap_or_default()));
}
