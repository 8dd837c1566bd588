//! A child: a process that speaks the protocol.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use rustix::process::Pid;
use tokio::time::timeout;

use super::connection::{Connection, Trouble};
use super::message::{Declared, FromChild, ToChild, VERSION};
use super::options::Children;
use super::process::{Process, kill_group, until_dead};
use super::system;

/// How long a child may take between its answer and being ready for the next job.
const READY_AFTER: Duration = Duration::from_secs(10);
/// How long a child may take to end when it is asked to, or has closed the connection.
const STOPPING: Duration = Duration::from_secs(1);

/// A child that is ready for a job, or runs one. It is killed when this is dropped.
pub(crate) struct Child {
    pub(super) process: Process,
    pub(super) connection: Connection,
    /// How many jobs it has got. The last one is the number of its task.
    pub(crate) jobs: u64,
    /// The process that it has forked for its last job, which leads a group of its own, until it is ready again.
    pub(super) fork: Option<Pid>,
}

/// The jobs that a child has handlers for.
pub(crate) type Jobs = BTreeMap<String, Declared>;

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(fork) = self.fork {
            kill_group(fork);
        }
    }
}

impl Child {
    /// Starts a child, and waits until it is ready for a job.
    pub(super) async fn start(options: &Children) -> Result<(Child, Jobs), NotStarted> {
        let failed =
            |error: io::Error| NotStarted::because(format!("it cannot be started: {error}"));
        let (connection, socket) = Connection::open().map_err(failed)?;
        let process = Process::start(options.command(), socket).await.map_err(failed)?;
        let mut child = Child { process, connection, jobs: 0, fork: None };
        match timeout(options.start_timeout, child.greet()).await {
            Ok(Ok(jobs)) => Ok((child, jobs)),
            Ok(Err(trouble)) => {
                let reason = child.end_after(trouble).await;
                let was_killed = child.process.was_killed_by_others().await;
                Err(NotStarted { reason, was_killed })
            }
            Err(_) => {
                let reason = format!("it was not ready after {:?}", options.start_timeout);
                Err(NotStarted::because(reason))
            }
        }
    }

    async fn greet(&mut self) -> Result<Jobs, Trouble> {
        let wrong = |what: String| Err(Trouble::Confused(what));
        let jobs = match self.connection.read().await? {
            FromChild::Hello { version: VERSION, jobs } => jobs,
            FromChild::Hello { version, .. } => {
                return wrong(format!(
                    "it speaks version {version}, this worker version {VERSION}"
                ));
            }
            _ => return wrong("its first message is not `hello`".to_owned()),
        };
        match self.connection.read().await? {
            FromChild::Ready => Ok(jobs),
            _ => wrong("its second message is not `ready`".to_owned()),
        }
    }

    /// Returns when the child, which has nothing to do, has ended or says anything.
    pub(crate) async fn broken(&mut self) -> Broken {
        Broken(tokio::select! {
            message = self.connection.read() => match message {
                Ok(_) => Trouble::Confused("it speaks although it has no job".to_owned()),
                Err(trouble) => trouble,
            },
            _ = self.process.exited() => Trouble::Closed,
        })
    }

    /// Waits until it is ready for the next job: whatever its last job has forked has ended then.
    pub(super) async fn ready(&mut self) -> Result<(), Trouble> {
        let wrong = |what: String| Err(Trouble::Confused(what));
        match timeout(READY_AFTER, self.connection.read()).await {
            Ok(Ok(FromChild::Ready)) => {
                self.fork = None;
                Ok(())
            }
            Ok(Ok(_)) => wrong("it speaks after its answer".to_owned()),
            Ok(Err(trouble)) => Err(trouble),
            Err(_) => wrong(format!("it was not ready {READY_AFTER:?} after its answer")),
        }
    }

    /// Whether it has run as many jobs, or uses as much memory, as it may.
    pub(super) fn is_used_up(&self, options: &Children) -> bool {
        let resident = || self.process.pid().and_then(system::resident);
        options.max_jobs.is_some_and(|most| self.jobs >= most)
            || options.max_memory.is_some_and(|most| resident().is_some_and(|bytes| bytes > most))
    }

    /// Ends it in order: asks it to end if it still listens, and kills it if it has not ended soon. Returns when it is
    /// dead.
    pub(crate) async fn stop(&mut self) {
        let stop = async {
            if let Ok(frame) = ToChild::Stop.write() {
                _ = self.connection.write(frame).await;
            }
            self.process.exited().await;
        };
        _ = timeout(STOPPING, stop).await;
        self.kill().await;
    }

    /// Kills it, the process that it has forked, and what they have started. Returns when the two are dead.
    pub(super) async fn kill(&mut self) {
        let fork = self.fork.take();
        if let Some(fork) = fork {
            kill_group(fork);
        }
        self.process.kill().await;
        if let Some(fork) = fork {
            until_dead(fork).await;
        }
    }

    /// Ends a child that had no job. Returns what was wrong, for a message.
    pub(crate) async fn bury(mut self, broken: Broken) -> String {
        self.end_after(broken.0).await
    }

    /// Ends a child that is of no more use. Returns what was wrong: if it has closed the connection, how it has ended.
    pub(super) async fn end_after(&mut self, trouble: Trouble) -> String {
        match trouble {
            Trouble::Confused(reason) => {
                self.kill().await;
                reason
            }
            Trouble::Closed => {
                self.stop().await;
                self.process.obituary().await.to_string()
            }
        }
    }
}

/// Why a child could not be started.
pub(super) struct NotStarted {
    /// For a message.
    pub(super) reason: String,
    /// A signal has ended it that was not the worker's.
    pub(super) was_killed: bool,
}

impl NotStarted {
    fn because(reason: String) -> Self {
        NotStarted { reason, was_killed: false }
    }
}

/// What is wrong with a child that has no job.
pub(crate) struct Broken(Trouble);
