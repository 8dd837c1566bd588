//! Turns between processes: who writes holds a lock on a file beside the database. The kernel wakes
//! the next at once, where SQLite's own lock would have to be polled, and some would never get it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::connection_slot::ConnectionSlot;
use super::database::Database;
use super::files::{Identity, beside, identity_of, unusable};
use super::worker::Shared;
use super::{quiesce, waits};
use crate::Result;

/// The files that writers take turns with. The database file itself must not be opened a second
/// time: closing that would drop SQLite's locks on it.
pub(super) struct WriterLock {
    lock: File,
    /// Shared by all who wait for the turn. Who does not wait takes no turn while anybody does: else
    /// one that comes again and again would be there before those that have to be woken.
    waiters: File,
    database: PathBuf,
    /// How often this process had forked before it was opened.
    forks: u64,
}

/// Where a file for turns is, and which file it is.
pub(super) type Place = (PathBuf, Identity);

impl WriterLock {
    pub(super) fn open(database: &Path) -> Result<WriterLock> {
        let forks = quiesce::forks();
        let open = |ending: &str| {
            let path = beside(database, ending);
            // Reading is enough for a lock, and possible where another user has made the file.
            File::open(&path)
                .or_else(|_| File::options().create(true).truncate(false).write(true).open(&path))
                .map_err(|error| unusable(&path, &error))
        };
        Ok(WriterLock {
            lock: open("-lock")?,
            waiters: open("-waiters")?,
            database: database.to_owned(),
            forks,
        })
    }

    /// A child has the same descriptor, and would keep the lock if this process were killed.
    fn is_shared(&self) -> bool {
        self.forks != quiesce::forks()
    }

    pub(super) fn place(&self) -> Result<Place> {
        let path = beside(&self.database, "-lock");
        let found = self.lock.metadata().map_err(|error| unusable(&path, &error))?;
        Ok((path, identity_of(&found)))
    }

    /// Waits for as long as it takes.
    pub(super) fn take(&self) -> Result<()> {
        let taken = self.waiters.lock_shared().and_then(|()| self.lock.lock());
        let _ = self.waiters.unlock();
        taken.map_err(|error| unusable(&beside(&self.database, "-lock"), &error))
    }

    /// False if somebody else has it or waits for it.
    pub(super) fn try_take(&self) -> bool {
        let free = |taken: Result<(), TryLockError>| taken.is_ok();
        if !free(self.waiters.try_lock()) {
            return false;
        }
        let taken = free(self.lock.try_lock());
        let _ = self.waiters.unlock();
        taken
    }

    /// The same, also before those who wait for it.
    fn try_take_first(&self) -> bool {
        self.lock.try_lock().is_ok()
    }

    pub(super) fn pass(&self) {
        let _ = self.lock.unlock();
    }
}

/// The thread's way to its turn: a descriptor of its own, on which it can wait.
pub(super) struct ThreadWriterLock {
    path: Option<PathBuf>,
    lock: Option<WriterLock>,
}

impl ThreadWriterLock {
    pub(super) fn new(path: Option<PathBuf>) -> ThreadWriterLock {
        ThreadWriterLock { path, lock: None }
    }

    /// Of the database; `None` in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn open(&mut self, path: &Path) -> Result<WriterLock> {
        let opened = self.lock.take().filter(|lock| !lock.is_shared());
        opened.map_or_else(|| WriterLock::open(path), Ok)
    }

    fn take(&mut self, shared: &Arc<Shared>) -> Result<()> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        loop {
            let lock = self.open(&path)?;
            shared.held_up.store(true, Ordering::Release);
            let taken = waits::take(lock, shared);
            shared.held_up.store(false, Ordering::Release);
            let lock = self.lock.insert(taken?);
            if !lock.is_shared() {
                return Ok(());
            }
            lock.pass();
        }
    }

    fn pass(&self) {
        if let Some(lock) = &self.lock {
            lock.pass();
        }
    }

    /// Uses the database in this client's turn to write. Waits for the turn until the client is closed:
    /// the callers give up by themselves.
    pub(super) fn with<T>(
        &mut self,
        shared: &Arc<Shared>,
        work: impl FnOnce(&mut Database) -> T,
    ) -> Result<T> {
        let mut work = Some(work);
        loop {
            self.take(shared)?;
            let done = self.use_it(&shared.slot, &mut work);
            self.pass();
            if let Some(done) = done.transpose() {
                return done;
            }
        }
    }

    /// The same without waiting. `None`: somebody else has the turn.
    pub(super) fn try_with<T>(
        &mut self,
        slot: &ConnectionSlot,
        work: impl FnOnce(&mut Database) -> T,
    ) -> Result<Option<T>> {
        if let Some(path) = self.path.clone() {
            let lock = self.open(&path)?;
            if !self.lock.insert(lock).try_take_first() {
                return Ok(None);
            }
        }
        let done = self.use_it(slot, &mut Some(work));
        self.pass();
        done
    }

    /// `None`: while it waited for the database the process has forked, and a child has the lock too.
    fn use_it<T, F: FnOnce(&mut Database) -> T>(
        &self,
        slot: &ConnectionSlot,
        work: &mut Option<F>,
    ) -> Result<Option<T>> {
        slot.use_it(|database| {
            let shared = self.lock.as_ref().is_some_and(WriterLock::is_shared);
            if shared { None } else { work.take().map(|work| work(database)) }
        })
    }
}
