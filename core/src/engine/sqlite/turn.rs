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
pub(super) struct Turn {
    turn: File,
    /// Shared by all who wait for the turn. Who does not wait takes no turn while anybody does: else
    /// one that comes again and again would be there before those that have to be woken.
    line: File,
    database: PathBuf,
    /// How often this process had forked before it was opened.
    forks: u64,
}

/// Where a file for turns is, and which file it is.
pub(super) type Place = (PathBuf, Identity);

impl Turn {
    pub(super) fn open(database: &Path) -> Result<Turn> {
        let forks = quiesce::forks();
        let open = |ending: &str| {
            let path = beside(database, ending);
            // Reading is enough for a lock, and possible where another user has made the file.
            File::open(&path)
                .or_else(|_| File::options().create(true).truncate(false).write(true).open(&path))
                .map_err(|error| unusable(&path, &error))
        };
        Ok(Turn {
            turn: open("-turn")?,
            line: open("-line")?,
            database: database.to_owned(),
            forks,
        })
    }

    /// A child has the same descriptor, and would keep the lock if this process were killed.
    fn is_shared(&self) -> bool {
        self.forks != quiesce::forks()
    }

    pub(super) fn place(&self) -> Result<Place> {
        let path = beside(&self.database, "-turn");
        let found = self.turn.metadata().map_err(|error| unusable(&path, &error))?;
        Ok((path, identity_of(&found)))
    }

    /// Waits for as long as it takes.
    pub(super) fn take(&self) -> Result<()> {
        let taken = self.line.lock_shared().and_then(|()| self.turn.lock());
        let _ = self.line.unlock();
        taken.map_err(|error| unusable(&beside(&self.database, "-turn"), &error))
    }

    /// False if somebody else has it or waits for it.
    pub(super) fn try_take(&self) -> bool {
        let free = |taken: Result<(), TryLockError>| taken.is_ok();
        if !free(self.line.try_lock()) {
            return false;
        }
        let taken = free(self.turn.try_lock());
        let _ = self.line.unlock();
        taken
    }

    /// The same, also before those who wait for it.
    fn try_take_first(&self) -> bool {
        self.turn.try_lock().is_ok()
    }

    pub(super) fn pass(&self) {
        let _ = self.turn.unlock();
    }
}

/// The thread's way to its turn: a descriptor of its own, on which it can wait.
pub(super) struct Turns {
    path: Option<PathBuf>,
    turn: Option<Turn>,
}

impl Turns {
    pub(super) fn new(path: Option<PathBuf>) -> Turns {
        Turns { path, turn: None }
    }

    /// Of the database; `None` in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn open(&mut self, path: &Path) -> Result<Turn> {
        let opened = self.turn.take().filter(|turn| !turn.is_shared());
        opened.map_or_else(|| Turn::open(path), Ok)
    }

    fn take(&mut self, shared: &Arc<Shared>) -> Result<()> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        loop {
            let turn = self.open(&path)?;
            shared.held_up.store(true, Ordering::Release);
            let taken = waits::take(turn, shared);
            shared.held_up.store(false, Ordering::Release);
            let turn = self.turn.insert(taken?);
            if !turn.is_shared() {
                return Ok(());
            }
            turn.pass();
        }
    }

    fn pass(&self) {
        if let Some(turn) = &self.turn {
            turn.pass();
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
            let turn = self.open(&path)?;
            if !self.turn.insert(turn).try_take_first() {
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
            let shared = self.turn.as_ref().is_some_and(Turn::is_shared);
            if shared { None } else { work.take().map(|work| work(database)) }
        })
    }
}
