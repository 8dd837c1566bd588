//! The lock of writers: a lock on a file beside the database. The kernel wakes the next writer at once,
//! whereas SQLite's own lock has to be polled, and a writer may never get it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use super::files::{Identity, beside, identity_of, unusable};
use super::process::forks;
use crate::Result;

/// The database file itself must not be opened a second time: closing it would drop SQLite's locks on it.
pub(super) struct WriterLock {
    lock: File,
    /// Every writer that waits shares a lock on it. A writer that does not want to wait stays away while
    /// there is one. Otherwise a busy writer would always come before those that have to be woken.
    waiters: File,
    database: PathBuf,
    /// How often this process had forked before the files were opened.
    forks: u64,
}

/// Where the lock file is, and which file it is.
pub(super) type Place = (PathBuf, Identity);

impl WriterLock {
    pub(super) fn open(database: &Path) -> Result<WriterLock> {
        let forks = forks();
        let open = |ending: &str| {
            let path = beside(database, ending);
            // Locking needs no more than reading, which is allowed even if another user created the file.
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

    /// Whether a child has the same descriptor. It would keep the lock if this process were killed.
    pub(super) fn is_shared(&self) -> bool {
        self.forks != forks()
    }

    pub(super) fn place(&self) -> Result<Place> {
        let path = beside(&self.database, "-lock");
        let found = self.lock.metadata().map_err(|error| unusable(&path, &error))?;
        Ok((path, identity_of(&found)))
    }

    /// Waits as long as it takes.
    pub(super) fn acquire(&self) -> Result<()> {
        let acquired = self.waiters.lock_shared().and_then(|()| self.lock.lock());
        let _ = self.waiters.unlock();
        acquired.map_err(|error| unusable(&beside(&self.database, "-lock"), &error))
    }

    /// False if another writer holds the lock or waits for it.
    pub(super) fn try_acquire(&self) -> bool {
        let succeeds = |locked: std::result::Result<(), TryLockError>| locked.is_ok();
        if !succeeds(self.waiters.try_lock()) {
            return false;
        }
        let acquired = succeeds(self.lock.try_lock());
        let _ = self.waiters.unlock();
        acquired
    }

    /// False if another writer holds the lock. Overtakes those that wait for it.
    pub(super) fn try_acquire_first(&self) -> bool {
        self.lock.try_lock().is_ok()
    }

    pub(super) fn release(&self) {
        let _ = self.lock.unlock();
    }
}
