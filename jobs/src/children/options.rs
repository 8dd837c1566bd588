//! What a worker is told about its children.

use std::ffi::{OsStr, OsString};
use std::process::Command;
use std::time::Duration;

use leaseq::{Error, Result};

/// How the jobs of a worker run in child processes: see [`Worker::children`](crate::Worker::children). Each slot has a
/// child, which runs one job at a time.
///
/// ```
/// use leaseq_jobs::Children;
///
/// let children = Children::new("python3").args(["-m", "app.child"]).max_jobs(1000).memory_limit(512 << 20);
/// ```
#[derive(Debug, Clone)]
pub struct Children {
    program: OsString,
    args: Vec<OsString>,
    envs: Vec<(OsString, OsString)>,
    pub(super) max_jobs: Option<u64>,
    pub(super) max_memory: Option<u64>,
    pub(super) memory_limit: Option<u64>,
    pub(super) start_timeout: Duration,
}

impl Children {
    /// Starts this program for each slot. Without a slash, it is looked up in `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Children {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            envs: Vec::new(),
            max_jobs: None,
            max_memory: None,
            memory_limit: None,
            start_timeout: Duration::from_secs(60),
        }
    }

    /// Starts it with one more argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Starts it with more arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable in its environment, besides those of this process.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.envs.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Replaces a child after this many jobs, at least 1; with 1, each job has a child of its own. Default: never.
    pub fn max_jobs(mut self, jobs: u64) -> Self {
        self.max_jobs = Some(jobs);
        self
    }

    /// Replaces a child that uses more than this many bytes of memory (resident size) after a job. Default: never.
    /// Where the system does not tell (everywhere but on Linux), it is not replaced.
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.max_memory = Some(bytes);
        self
    }

    /// Kills a child that uses more than this many bytes of memory (resident size) during a job, which then fails with
    /// the class `OutOfMemory`. It is looked at every 100 ms. Default: never, and only on Linux.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// How long a child may take to start and to load its handlers. Default: 60 s.
    pub fn start_timeout(mut self, time: Duration) -> Self {
        self.start_timeout = time;
        self
    }

    pub(crate) fn validate(&self) -> Result<()> {
        if self.max_jobs == Some(0) {
            return Err(Error::invalid("a child that is replaced after 0 jobs"));
        }
        for (what, bytes) in [("max_memory", self.max_memory), ("memory_limit", self.memory_limit)]
        {
            if bytes == Some(0) {
                return Err(Error::invalid(format_args!("children with a {what} of 0 bytes")));
            }
        }
        if self.start_timeout.is_zero() {
            return Err(Error::invalid("children with a start timeout of 0"));
        }
        Ok(())
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).envs(self.envs.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The program, for messages.
    pub(super) fn program(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}
