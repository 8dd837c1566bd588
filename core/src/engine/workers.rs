//! The registry of workers as engines store it.

use bytes::Bytes;

use crate::Error;
use crate::options::{MAX_QUIET_WORKERS, MAX_WORKER_COMMANDS};

/// Names an entry: the worker's name and its instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredName {
    pub(crate) name: String,
    pub(crate) instance: String,
}

/// The place of a worker among all: its name, NUL, and its instance. Something else may have written it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkerEntry(pub(crate) Bytes);

impl WorkerEntry {
    pub(crate) fn name(&self) -> Option<StoredName> {
        let (name, instance) = std::str::from_utf8(&self.0).ok()?.split_once('\0')?;
        Some(StoredName { name: name.to_owned(), instance: instance.to_owned() })
    }
}

impl From<&StoredName> for WorkerEntry {
    fn from(worker: &StoredName) -> WorkerEntry {
        WorkerEntry([worker.name.as_bytes(), b"\0", worker.instance.as_bytes()].concat().into())
    }
}

/// A command as an engine stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredCommand {
    /// Below 2^48; no other command of the worker has it.
    pub(crate) number: u64,
    /// Opaque to the engine.
    pub(crate) text: Bytes,
}

#[derive(Debug, Clone)]
pub(crate) struct StoredBeat {
    pub(crate) worker: StoredName,
    /// Opaque to the engine; empty: the worker ends.
    pub(crate) body: Bytes,
    /// The numbers of the commands that are not to be delivered any more.
    pub(crate) acknowledged: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BeatAnswer {
    pub(crate) quiet: bool,
    pub(crate) commands: Vec<StoredCommand>,
}

/// Which workers to read: those behind this one, in the order of names and instances.
#[derive(Debug, Clone)]
pub(crate) struct WhichWorkers {
    pub(crate) after: Option<WorkerEntry>,
    /// Only those of this name.
    pub(crate) name: Option<String>,
    /// How many entries to look at, at least 1.
    pub(crate) limit: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct StoredWorker {
    pub(crate) entry: WorkerEntry,
    /// When its last beat was.
    pub(crate) beat_ms: u64,
    pub(crate) body: Bytes,
    pub(crate) quiet: bool,
    pub(crate) commands: Vec<StoredCommand>,
}

/// As many workers as fit into a reply, at least one if there is one.
#[derive(Debug, Clone)]
pub(crate) struct StoredWorkers {
    pub(crate) found: Vec<StoredWorker>,
    /// Where to read on; `None`: there are no more.
    pub(crate) next: Option<WorkerEntry>,
}

impl StoredCommand {
    /// The error if the worker can have no other one.
    pub(crate) fn too_many(worker: &StoredName) -> Error {
        Error::invalid(format_args!(
            "worker {:?} has {MAX_WORKER_COMMANDS} commands that it has not acknowledged, the most that it may have",
            worker.name
        ))
    }
}

impl StoredWorkers {
    /// The error if no other name can be quiet.
    pub(crate) fn too_many_quiet() -> Error {
        Error::invalid(format_args!(
            "{MAX_QUIET_WORKERS} names of workers are quiet, which is the most"
        ))
    }
}
