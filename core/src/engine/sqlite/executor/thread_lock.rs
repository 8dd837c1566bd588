//! The writer lock of the thread, which has a descriptor of its own to wait on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::shared::Shared;
use super::waits;
use crate::Result;
use crate::engine::sqlite::connection_slot::ConnectionSlot;
use crate::engine::sqlite::database::Database;
use crate::engine::sqlite::writer_lock::WriterLock;

pub(super) struct ThreadLock {
    path: Option<PathBuf>,
    lock: Option<WriterLock>,
}

impl ThreadLock {
    pub(super) fn new(path: Option<PathBuf>) -> ThreadLock {
        ThreadLock { path, lock: None }
    }

    /// The path of the database; `None` in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn open(&mut self, path: &Path) -> Result<WriterLock> {
        let opened = self.lock.take().filter(|lock| !lock.is_shared());
        opened.map_or_else(|| WriterLock::open(path), Ok)
    }

    fn acquire(&mut self, shared: &Arc<Shared>) -> Result<()> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        loop {
            let lock = self.open(&path)?;
            shared.is_blocked.store(true, Ordering::Release);
            let acquired = waits::acquire(lock, shared);
            shared.is_blocked.store(false, Ordering::Release);
            let lock = self.lock.insert(acquired?);
            if !lock.is_shared() {
                return Ok(());
            }
            lock.release();
        }
    }

    fn release(&self) {
        if let Some(lock) = &self.lock {
            lock.release();
        }
    }

    /// Uses the database while holding the lock. Waits for the lock until the client is closed; its callers
    /// have deadlines of their own.
    pub(super) fn with<T>(
        &mut self,
        shared: &Arc<Shared>,
        work: impl FnOnce(&mut Database) -> T,
    ) -> Result<T> {
        let mut work = Some(work);
        loop {
            self.acquire(shared)?;
            let done = self.use_database(&shared.slot, &mut work);
            self.release();
            if let Some(done) = done.transpose() {
                return done;
            }
        }
    }

    /// The same without waiting. `None`: another process has the lock.
    pub(super) fn try_with<T>(
        &mut self,
        slot: &ConnectionSlot,
        work: impl FnOnce(&mut Database) -> T,
    ) -> Result<Option<T>> {
        if let Some(path) = self.path.clone() {
            let lock = self.open(&path)?;
            if !self.lock.insert(lock).try_acquire_first() {
                return Ok(None);
            }
        }
        let done = self.use_database(slot, &mut Some(work));
        self.release();
        done
    }

    /// `None`: the process has forked while this waited for the database, so a child has the lock as well.
    fn use_database<T, F: FnOnce(&mut Database) -> T>(
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
