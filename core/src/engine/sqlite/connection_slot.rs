//! Access to the database of a client: one user at a time, and none while the process forks.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::InterruptHandle;

use super::database::Database;
use super::open;
use super::opening::Opening;
use crate::lock::lock;
use crate::{Error, Result};

/// Holds the database while it is idle. A user takes it out, so that it holds no mutex meanwhile that a
/// forked child would find locked.
pub(super) struct ConnectionSlot {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether a fork interrupts the user.
    interruptible: bool,
    interrupt: Mutex<Option<InterruptHandle>>,
}

/// How often a fork repeats the interrupt. The user may have been about to begin.
const INTERRUPT_EVERY: Duration = Duration::from_millis(5);

struct State {
    content: Content,
    /// The process forks: nobody may take the database out.
    quiesced: bool,
}

enum Content {
    Open(Box<Database>),
    /// The next user opens it.
    Closed(Box<Opening>),
    Taken,
    /// The client is closed.
    Gone,
}

/// Puts the database back, whatever happens.
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

    /// For a database that is only read: a fork interrupts what runs.
    pub(super) fn interruptible(opening: Opening) -> Arc<ConnectionSlot> {
        Arc::new(ConnectionSlot::with(opening, true))
    }

    fn with(opening: Opening, interruptible: bool) -> ConnectionSlot {
        let state = State { content: Content::Closed(Box::new(opening)), quiesced: false };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        ConnectionSlot { state, changed, interruptible, interrupt: Mutex::default() }
    }

    /// Interrupts what runs now, if it is interruptible.
    pub(super) fn interrupt(&self) {
        // In a forked child the mutex may stay locked for ever.
        if let Ok(handle) = self.interrupt.try_lock()
            && let Some(handle) = &*handle
        {
            handle.interrupt();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses the database, unless that has to wait.
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
            let database = open::open(opening)?;
            if self.interruptible {
                let handle = Some(database.connection.get_interrupt_handle());
                *lock(&self.interrupt) = handle;
            }
            taken.back = Content::Open(Box::new(database));
        }
        match &mut taken.back {
            Content::Open(database) => Ok(work(database)),
            _ => Err(Error::closed()),
        }
    }

    /// Opens the database without the writer lock. False: its tables have to be created.
    pub(super) fn open_existing(&self) -> Result<bool> {
        let mut taken = self.take();
        if let Content::Closed(opening) = &taken.back
            && let Some(database) = open::open_existing(opening)?
        {
            taken.back = Content::Open(Box::new(database));
        }
        Ok(matches!(taken.back, Content::Open(_)))
    }

    /// Closes the database for good.
    pub(super) fn close(&self) {
        let mut taken = self.take();
        taken.back = Content::Gone;
    }

    /// The same, unless it is in use.
    pub(super) fn try_close(&self) {
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

    /// Keeps users out until [`resume`](ConnectionSlot::resume), and closes the file. False: somebody still
    /// used it when the time was over.
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
