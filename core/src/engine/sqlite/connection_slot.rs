//! Who uses the database of a client: one at a time, and nobody while the process forks.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::InterruptHandle;

use super::database::Database;
use super::opening::Opening;
use crate::{Error, Result};

/// Holds the database while nobody uses it. Whoever does has taken it out, so that no lock is held
/// meanwhile that a fork could leave behind.
pub(super) struct ConnectionSlot {
    state: Mutex<State>,
    changed: Condvar,
    /// What is done with it may be broken off at any time, and is by a fork.
    interruptible: bool,
    interrupt: Mutex<Option<InterruptHandle>>,
}

/// How often who forks breaks off what may be: it may begin in the same moment.
const INTERRUPT_EVERY: Duration = Duration::from_millis(5);

struct State {
    content: Content,
    /// The process forks: nothing is taken out.
    quiesced: bool,
}

enum Content {
    Open(Box<Database>),
    /// To be opened by the next who uses it.
    Closed(Box<Opening>),
    Taken,
    /// The client is closed.
    Gone,
}

/// Puts back what was taken out, whatever happens.
struct Taken<'a> {
    slot: &'a ConnectionSlot,
    back: Content,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Content::Open(database) = &mut self.back
        {
            database.abandon();
        }
        self.slot.lock().content = std::mem::replace(&mut self.back, Content::Gone);
        self.slot.changed.notify_all();
    }
}

impl ConnectionSlot {
    pub(super) fn new(opening: Opening) -> Arc<ConnectionSlot> {
        Arc::new(ConnectionSlot::with(opening, false))
    }

    /// For a database that is only read.
    pub(super) fn interruptible(opening: Opening) -> Arc<ConnectionSlot> {
        Arc::new(ConnectionSlot::with(opening, true))
    }

    fn with(opening: Opening, interruptible: bool) -> ConnectionSlot {
        let state = State { content: Content::Closed(Box::new(opening)), quiesced: false };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        ConnectionSlot { state, changed, interruptible, interrupt: Mutex::default() }
    }

    /// Breaks off what runs now, if that may be.
    pub(super) fn interrupt(&self) {
        // In a forked child it may be locked for ever.
        if let Ok(handle) = self.interrupt.try_lock()
            && let Some(handle) = &*handle
        {
            handle.interrupt();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses the database if that is possible at once.
    pub(super) fn try_use<T>(&self, work: impl FnOnce(&mut Database) -> T) -> Option<T> {
        let mut taken = {
            let mut state = self.lock();
            if state.quiesced || !matches!(state.content, Content::Open(_)) {
                return None;
            }
            Taken { slot: self, back: std::mem::replace(&mut state.content, Content::Taken) }
        };
        match &mut taken.back {
            Content::Open(database) => Some(work(database)),
            _ => None,
        }
    }

    /// Waits until the database is free, opens it if it is closed, and uses it.
    pub(super) fn use_it<T>(&self, work: impl FnOnce(&mut Database) -> T) -> Result<T> {
        let mut taken = self.take();
        if let Content::Closed(opening) = &taken.back {
            let database = opening.open()?;
            if self.interruptible {
                let handle = Some(database.connection.get_interrupt_handle());
                *self.interrupt.lock().unwrap_or_else(PoisonError::into_inner) = handle;
            }
            taken.back = Content::Open(Box::new(database));
        }
        match &mut taken.back {
            Content::Open(database) => Ok(work(database)),
            _ => Err(Error::closed()),
        }
    }

    /// Opens it without the turn. False: its tables have to be made.
    pub(super) fn open_made(&self) -> Result<bool> {
        let mut taken = self.take();
        if let Content::Closed(opening) = &taken.back
            && let Some(database) = opening.open_made()?
        {
            taken.back = Content::Open(Box::new(database));
        }
        Ok(matches!(taken.back, Content::Open(_)))
    }

    /// Closes it for good.
    pub(super) fn end(&self) {
        let mut taken = self.take();
        taken.back = Content::Gone;
    }

    /// The same if nobody uses it now.
    pub(super) fn try_end(&self) {
        let mut taken = {
            let mut state = self.lock();
            if state.quiesced || matches!(state.content, Content::Taken) {
                return;
            }
            Taken { slot: self, back: std::mem::replace(&mut state.content, Content::Taken) }
        };
        taken.back = Content::Gone;
    }

    fn take(&self) -> Taken<'_> {
        let mut state = self.lock();
        while state.quiesced || matches!(state.content, Content::Taken) {
            state = self.wait(state);
        }
        Taken { slot: self, back: std::mem::replace(&mut state.content, Content::Taken) }
    }

    /// From now on nobody uses it until [`resume`](ConnectionSlot::resume); a file is closed.
    /// False: somebody still did when the time was over.
    pub(super) fn quiesce(&self, until: Instant) -> bool {
        let mut state = self.lock();
        state.quiesced = true;
        while matches!(state.content, Content::Taken) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let mut rest = left;
            if self.interruptible {
                self.interrupt();
                rest = left.min(INTERRUPT_EVERY);
            }
            let waited = self.changed.wait_timeout(state, rest);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let mut taken =
            Taken { slot: self, back: std::mem::replace(&mut state.content, Content::Taken) };
        drop(state);
        if let Content::Open(database) = &taken.back
            && database.file.is_some()
            && let Content::Open(database) = std::mem::replace(&mut taken.back, Content::Gone)
        {
            taken.back = Content::Closed(Box::new(database.quiesce()));
        }
        true
    }

    pub(super) fn resume(&self) {
        self.lock().quiesced = false;
        self.changed.notify_all();
    }
}
