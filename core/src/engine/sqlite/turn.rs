//! Turns between processes: who writes holds a lock on a file beside the database. The kernel wakes
//! the next at once, where SQLite's own lock would have to be polled, and some would never get it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use super::database::Database;
use super::files::{beside, unusable};
use super::park;
use super::seat::Seat;
use crate::Result;

/// The files that writers take turns with. The database file itself must not be opened a second
/// time: closing that would drop SQLite's locks on it.
pub(super) struct Turn {
    turn: File,
    /// Shared by all who wait for the turn. Who does not wait takes no turn while anybody does: else
    /// one that comes again and again would be there before those that have to be woken.
    line: File,
    database: PathBuf,
}

impl Turn {
    pub(super) fn open(database: &Path) -> Result<Turn> {
        let open = |ending: &str| {
            let path = beside(database, ending);
            // Reading is enough for a lock, and possible where another user has made the file.
            File::open(&path)
                .or_else(|_| File::options().create(true).truncate(false).write(true).open(&path))
                .map_err(|error| unusable(&path, &error))
        };
        Ok(Turn { turn: open("-turn")?, line: open("-line")?, database: database.to_owned() })
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

    pub(super) fn pass(&self) {
        let _ = self.turn.unlock();
    }
}

/// The thread's way to its turn: a descriptor of its own, on which it can wait.
pub(super) struct Turns {
    path: Option<PathBuf>,
    /// With the number of forks before it was opened.
    turn: Option<(u64, Turn)>,
}

impl Turns {
    pub(super) fn new(path: Option<PathBuf>) -> Turns {
        Turns { path, turn: None }
    }

    fn take(&mut self) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        loop {
            let forks = park::forks();
            let turn = match self.turn.take() {
                Some((opened, turn)) if opened == forks => turn,
                _ => Turn::open(path)?,
            };
            turn.take()?;
            let (_, turn) = self.turn.insert((forks, turn));
            if forks == park::forks() {
                return Ok(());
            }
            // A child has this lock too, and would keep it if this process were killed.
            turn.pass();
        }
    }

    fn pass(&self) {
        if let Some((_, turn)) = &self.turn {
            turn.pass();
        }
    }

    /// Uses the database in this client's turn to write.
    pub(super) fn with<T>(
        &mut self,
        seat: &Seat,
        work: impl FnOnce(&mut Database) -> T,
    ) -> Result<T> {
        let mut work = Some(work);
        loop {
            self.take()?;
            let done = seat.use_it(|database| {
                // While it waited for the database the process has forked.
                let shared = self.turn.as_ref().is_some_and(|(forks, _)| *forks != park::forks());
                if shared { None } else { work.take().map(|work| work(database)) }
            });
            self.pass();
            if let Some(done) = done.transpose() {
                return done;
            }
        }
    }
}
