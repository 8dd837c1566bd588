//! Threads that wait for the writer lock. Nothing can interrupt a wait in `flock`, so the thread of a closed
//! client goes on waiting. The next client of the file that has to wait takes over that wait instead of
//! beginning its own. So there are never more such threads than clients were open at the same time.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use super::shared::Shared;
use crate::engine::sqlite::writer_lock::{Place, WriterLock};
use crate::lock::lock;
use crate::{Error, Result};

/// Locked while this process forks.
static WAITS: Mutex<Vec<Wait>> = Mutex::new(Vec::new());
static CHANGED: Condvar = Condvar::new();

/// A thread in `flock`.
pub(crate) struct Wait {
    /// The client that the thread belongs to.
    thread: Weak<Shared>,
    /// The client that wants the lock; `None`: it was closed.
    client: Option<Weak<Shared>>,
    place: Place,
    /// The lock, for a client that has taken over the wait.
    acquired: Option<WriterLock>,
}

impl Wait {
    fn is_wanted_by(&self, client: &Weak<Shared>) -> bool {
        self.client.as_ref().is_some_and(|wanting| wanting.ptr_eq(client))
    }
}

pub(crate) fn lock_all() -> MutexGuard<'static, Vec<Wait>> {
    lock(&WAITS)
}

fn position(waits: &[Wait], thread: &Weak<Shared>) -> Option<usize> {
    waits.iter().position(|wait| wait.thread.ptr_eq(thread))
}

/// Waits for the lock until the client is closed. Returns `own`, or another descriptor that has the lock.
pub(super) fn acquire(own: WriterLock, client: &Arc<Shared>) -> Result<WriterLock> {
    let (me, place) = (Arc::downgrade(client), own.place()?);
    let mut waits = lock_all();
    // Closing ends the inbox first, and then calls `leave`.
    if client.inbox.has_ended() {
        return Err(Error::closed());
    }
    let abandoned = waits.iter_mut().find(|wait| wait.client.is_none() && wait.place == place);
    if let Some(wait) = abandoned {
        wait.client = Some(me.clone());
        let thread = wait.thread.clone();
        // If it disappears without the lock, its wait has failed, and this thread waits itself.
        while let Some(at) = position(&waits, &thread) {
            if !waits[at].is_wanted_by(&me) {
                return Err(Error::closed());
            }
            if waits[at].acquired.is_some() {
                return waits.remove(at).acquired.ok_or_else(Error::closed);
            }
            waits = CHANGED.wait(waits).unwrap_or_else(PoisonError::into_inner);
        }
        if client.inbox.has_ended() {
            return Err(Error::closed());
        }
    }
    let (thread, wanting) = (me.clone(), Some(me.clone()));
    waits.push(Wait { thread, client: wanting, place, acquired: None });
    drop(waits);
    let acquired = own.acquire();
    end(&me, own, acquired)
}

/// Ends the wait of this thread. The lock goes to the client that wants it now.
fn end(me: &Weak<Shared>, own: WriterLock, acquired: Result<()>) -> Result<WriterLock> {
    let mut waits = lock_all();
    let Some(at) = position(&waits, me) else { return acquired.map(|()| own) };
    if waits[at].is_wanted_by(me) {
        waits.remove(at);
        return acquired.map(|()| own);
    }
    if acquired.is_ok() && waits[at].client.is_some() {
        waits[at].acquired = Some(own);
    } else {
        waits.remove(at);
        own.release();
    }
    CHANGED.notify_all();
    Err(Error::closed())
}

/// The client was closed, and does not want the lock any more.
pub(super) fn leave(client: &Arc<Shared>) {
    let me = Arc::downgrade(client);
    let mut waits = lock_all();
    let Some(at) = waits.iter().position(|wait| wait.is_wanted_by(&me)) else { return };
    waits[at].client = None;
    if let Some(lock) = waits[at].acquired.take() {
        waits.remove(at);
        lock.release();
    }
    CHANGED.notify_all();
}
