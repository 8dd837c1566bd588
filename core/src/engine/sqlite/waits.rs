//! Who waits for a turn. Nothing interrupts a thread that waits in `flock`, so the wait of a client that
//! was closed goes on. The next client of the file that has to wait takes it over, and begins none of its
//! own: there are never more of these threads than clients were open at the same time.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use super::worker::Shared;
use super::writer_lock::{Place, WriterLock};
use crate::{Error, Result};

/// Locked as long as this process forks.
static WAITS: Mutex<Vec<Wait>> = Mutex::new(Vec::new());
static CHANGED: Condvar = Condvar::new();

/// A wait in `flock`.
pub(super) struct Wait {
    /// Of which client the thread is.
    thread: Weak<Shared>,
    /// Which client wants the turn; `None`: it was closed.
    client: Option<Weak<Shared>>,
    place: Place,
    /// The turn, for a client that has taken the wait over.
    won: Option<WriterLock>,
}

impl Wait {
    fn is_wanted_by(&self, client: &Weak<Shared>) -> bool {
        self.client.as_ref().is_some_and(|wanting| wanting.ptr_eq(client))
    }
}

pub(super) fn lock() -> MutexGuard<'static, Vec<Wait>> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn position(waits: &[Wait], thread: &Weak<Shared>) -> Option<usize> {
    waits.iter().position(|wait| wait.thread.ptr_eq(thread))
}

/// Waits for the turn until the client is closed. What comes back may be another descriptor.
pub(super) fn take(own: WriterLock, client: &Arc<Shared>) -> Result<WriterLock> {
    let (me, place) = (Arc::downgrade(client), own.place()?);
    let mut waits = lock();
    // Whoever closes it says so first, and then looks whether it waits.
    if client.inbox.has_ended() {
        return Err(Error::closed());
    }
    let left = waits.iter_mut().find(|wait| wait.client.is_none() && wait.place == place);
    if let Some(wait) = left {
        wait.client = Some(me.clone());
        let thread = wait.thread.clone();
        // Without a turn, that thread could not wait to its end.
        while let Some(at) = position(&waits, &thread) {
            if !waits[at].is_wanted_by(&me) {
                return Err(Error::closed());
            }
            if waits[at].won.is_some() {
                return waits.remove(at).won.ok_or_else(Error::closed);
            }
            waits = CHANGED.wait(waits).unwrap_or_else(PoisonError::into_inner);
        }
        if client.inbox.has_ended() {
            return Err(Error::closed());
        }
    }
    let (thread, wanting) = (me.clone(), Some(me.clone()));
    waits.push(Wait { thread, client: wanting, place, won: None });
    drop(waits);
    let taken = own.take();
    end(&me, own, taken)
}

/// The wait of this thread is over. The turn is for whoever wants it now.
fn end(me: &Weak<Shared>, own: WriterLock, taken: Result<()>) -> Result<WriterLock> {
    let mut waits = lock();
    let Some(at) = position(&waits, me) else { return taken.map(|()| own) };
    if waits[at].is_wanted_by(me) {
        waits.remove(at);
        return taken.map(|()| own);
    }
    if taken.is_ok() && waits[at].client.is_some() {
        waits[at].won = Some(own);
    } else {
        waits.remove(at);
        own.pass();
    }
    CHANGED.notify_all();
    Err(Error::closed())
}

/// The client is closed: it wants no turn any more.
pub(super) fn leave(client: &Arc<Shared>) {
    let me = Arc::downgrade(client);
    let mut waits = lock();
    let Some(at) = waits.iter().position(|wait| wait.is_wanted_by(&me)) else { return };
    waits[at].client = None;
    if let Some(lock) = waits[at].won.take() {
        waits.remove(at);
        lock.pass();
    }
    CHANGED.notify_all();
}
