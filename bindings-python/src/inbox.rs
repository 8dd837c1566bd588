//! Where the core puts replies for an event loop.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::answer::Answer;

/// The number of a call, and its answer. `None`: the call broke off.
pub(crate) type Reply = (u64, Option<leaseq::Result<Answer>>);

/// Threads of the core never take the GIL: they leave replies here and write a byte for the loop.
pub(crate) struct Inbox {
    /// `None` when the loop is gone.
    replies: Mutex<Option<Vec<Reply>>>,
    wake_tx: UnixStream,
}

/// The end that the event loop reads.
pub(crate) struct WakeUps(UnixStream);

impl Inbox {
    pub(crate) fn new() -> std::io::Result<(Inbox, WakeUps)> {
        let (wake_rx, wake_tx) = UnixStream::pair()?;
        wake_rx.set_nonblocking(true)?;
        wake_tx.set_nonblocking(true)?;
        Ok((Inbox { replies: Mutex::new(Some(Vec::new())), wake_tx }, WakeUps(wake_rx)))
    }

    fn replies(&self) -> MutexGuard<'_, Option<Vec<Reply>>> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the loop once for all replies that are there when it comes.
    pub(crate) fn put(&self, new: &mut Vec<Reply>) {
        if let Some(replies) = &mut *self.replies() {
            if replies.is_empty() && !new.is_empty() {
                // When the stream is full, the loop is about to wake up.
                let _ = (&self.wake_tx).write(&[0]);
            }
            replies.append(new);
        }
        // If the loop is gone, leases go back, outside the lock.
        new.clear();
    }

    pub(crate) fn take(&self) -> Vec<Reply> {
        self.replies().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The loop is gone. What is left gives its leases back.
    pub(crate) fn close(&self) {
        let left = self.replies().take();
        drop(left);
    }
}

impl WakeUps {
    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// False if the stream was closed from outside.
    pub(crate) fn read(&self) -> bool {
        let mut bytes = [0; 64];
        !matches!((&self.0).read(&mut bytes), Ok(0))
    }
}
