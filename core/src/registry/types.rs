//! What workers say of themselves, and what others see and command.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use rand::Rng;
use rand::distr::Alphanumeric;

use crate::error::show_id;
use crate::histogram::Histogram;
use crate::name::QueueName;
use crate::options::{MAX_BEAT_ENTRIES, MAX_ID, MAX_WORKER_TEXT};
use crate::text::check_text;
use crate::{Error, Result};

/// Which worker: its name, which stays the same when it is started again, and its instance, which does not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId {
    pub(super) name: String,
    pub(super) instance: String,
}

impl WorkerId {
    /// A worker with this name and a random instance. Both have 1 to 128 bytes and no control characters.
    pub fn new(name: impl Into<String>) -> Self {
        let instance = rand::rng().sample_iter(Alphanumeric).take(16).map(char::from).collect();
        WorkerId { name: name.into(), instance }
    }

    /// Another instance, such as that of a worker that was listed.
    pub fn with_instance(mut self, instance: impl Into<String>) -> Self {
        self.instance = instance.into();
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The instance.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// Checks what every call with this worker checks.
    ///
    /// # Errors
    /// `Invalid` for a name or an instance outside its limits.
    pub fn validate(&self) -> Result<()> {
        check_name("the name of a worker", &self.name, 1)?;
        check_name("the instance of a worker", &self.instance, 1)
    }
}

/// An item that a worker is working on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningItem {
    /// Its queue.
    pub queue: String,
    /// Its id.
    pub id: Bytes,
    /// For how long the worker has been working on it.
    pub elapsed: Duration,
    /// When its lease expires, as [`Lease::deadline`](crate::Lease::deadline) says.
    pub deadline: SystemTime,
}

/// What a worker says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Beat {
    /// Which worker it is.
    pub worker: WorkerId,
    /// Its machine, up to 128 bytes. Default: empty.
    pub host: String,
    /// Its process. Default: the caller's.
    pub process: u32,
    /// Its language, up to 128 bytes. Default: `rust`.
    pub language: String,
    /// The version of leaseq that it uses, up to 128 bytes. Default: the caller's.
    pub version: String,
    /// The queues that it serves, up to 1,000.
    pub queues: Vec<String>,
    /// How many items it works on at the same time.
    pub slots: u32,
    /// What it is working on, up to 1,000 items.
    pub running: Vec<RunningItem>,
    /// How much memory it uses, in bytes; `None` if it does not know.
    pub memory: Option<u64>,
    /// It leases nothing at present, for lack of memory or the like.
    pub throttled: bool,
    /// It leases nothing more, and ends when what it works on has ended.
    pub draining: bool,
    /// For how long items were ready before it leased them, in µs, since it was started.
    pub waiting: Histogram,
    /// For how long it worked on items, in µs, since it was started.
    pub run: Histogram,
    /// How much of their leases items had used when they ended, in thousandths, since it was started.
    pub lease_use: Histogram,
    /// The numbers of the commands that it has executed.
    pub acknowledged: Vec<u64>,
}

impl Beat {
    /// A worker that serves nothing.
    pub fn new(worker: WorkerId) -> Self {
        Beat {
            worker,
            host: String::new(),
            process: std::process::id(),
            language: "rust".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            queues: Vec::new(),
            slots: 0,
            running: Vec::new(),
            memory: None,
            throttled: false,
            draining: false,
            waiting: Histogram::new(),
            run: Histogram::new(),
            lease_use: Histogram::new(),
            acknowledged: Vec::new(),
        }
    }

    pub(super) fn validate(&self) -> Result<()> {
        self.worker.validate()?;
        self.check()
            .map_err(|error| Error::invalid(format_args!("worker {:?}: {error}", self.worker.name)))
    }

    fn check(&self) -> Result<()> {
        check_name("the host", &self.host, 0)?;
        check_name("the language", &self.language, 0)?;
        check_name("the version", &self.version, 0)?;
        let counts = [("queues", self.queues.len()), ("running items", self.running.len())];
        for (what, count) in counts {
            if count > MAX_BEAT_ENTRIES {
                return Err(Error::invalid(format_args!(
                    "{count} {what} are more than {MAX_BEAT_ENTRIES}"
                )));
            }
        }
        let running = self.running.iter().map(|item| &item.queue);
        for queue in self.queues.iter().chain(running) {
            QueueName::new(queue)?;
        }
        self.running.iter().try_for_each(|item| check_id(&item.id))
    }
}

pub(super) fn check_id(id: &[u8]) -> Result<()> {
    if (1..=MAX_ID).contains(&id.len()) {
        return Ok(());
    }
    Err(Error::invalid(format_args!(
        "id {} has {} bytes, not between 1 and {MAX_ID}",
        show_id(id),
        id.len()
    )))
}

pub(super) fn check_name(what: &str, name: &str, least: usize) -> Result<()> {
    check_text(what, name, least..=MAX_WORKER_TEXT)
}

/// What a worker is told to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkerAction {
    /// Stop leasing, finish what is running, and end.
    Stop,
    /// Cancel the work on an item, if the worker is working on it.
    Cancel {
        /// The item's queue.
        queue: String,
        /// Its id.
        id: Bytes,
    },
}

impl WorkerAction {
    pub(super) fn validate(&self) -> Result<()> {
        match self {
            WorkerAction::Stop => Ok(()),
            WorkerAction::Cancel { queue, id } => {
                QueueName::new(queue)?;
                check_id(id)
            }
        }
    }
}

/// A command for a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerCommand {
    /// By which it is acknowledged; below 2^48.
    pub number: u64,
    /// What to do.
    pub action: WorkerAction,
}

/// The reply to a beat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BeatReply {
    /// The worker is to lease nothing until this is false again.
    pub quiet: bool,
    /// The commands that it has not acknowledged. One may come again, with the same number, if a reply was lost.
    pub commands: Vec<WorkerCommand>,
}

/// A worker as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerInfo {
    /// What its last beat said. `acknowledged` is empty.
    pub beat: Beat,
    /// When that was, on the engine's clock.
    pub seen: SystemTime,
    /// Whether workers of its name are to be quiet.
    pub quiet: bool,
    /// The commands that it has not acknowledged.
    pub commands: Vec<WorkerCommand>,
}

/// Which workers to list.
#[derive(Debug, Clone, Default)]
pub struct WorkersOptions {
    pub(super) after: Option<WorkerId>,
    pub(super) name: Option<String>,
    pub(super) queue: Option<String>,
    pub(super) limit: Option<usize>,
}

impl WorkersOptions {
    /// All workers, from the first one on.
    pub fn new() -> Self {
        WorkersOptions::default()
    }

    /// Goes on after this one: [`WorkersPage::next`] of the page before.
    pub fn after(mut self, worker: WorkerId) -> Self {
        self.after = Some(worker);
        self
    }

    /// Only the instances of this name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Only workers that serve this queue.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = Some(queue.into());
        self
    }

    /// How many workers to look at, 1 to 200. Default: 100.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }
}

/// Some workers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkersPage {
    /// In the order of their names, then of their instances. There may be fewer than were looked at, even none.
    pub workers: Vec<WorkerInfo>,
    /// Where the next page begins; `None`: this is the last one.
    pub next: Option<WorkerId>,
    /// How many entries were left out because they cannot be read. Something else has written them.
    pub skipped: u64,
}
