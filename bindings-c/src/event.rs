//! File descriptors that event loops wait for.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::failure::{Failure, Result};

/// An eventfd: readable while it is set.
pub(crate) struct Event(File);

impl Event {
    /// `what`: what it is for, for messages.
    pub(crate) fn new(what: &str) -> Result<Event> {
        // SAFETY: a plain system call.
        let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if event < 0 {
            let why = std::io::Error::last_os_error();
            let message = format!("no file descriptor for {what}: {why}; nothing was executed");
            let kind = leaseq::ErrorKind::Unavailable;
            return Err(Failure { kind, message, outcome_unknown: false });
        }
        // SAFETY: just opened, and owned by nobody else.
        Ok(Event(unsafe { OwnedFd::from_raw_fd(event) }.into()))
    }

    /// Must not be set already.
    pub(crate) fn set(&self) {
        // Cannot block: the count is 0.
        let _ = (&self.0).write(&1_u64.to_ne_bytes());
    }

    /// Must be set.
    pub(crate) fn clear(&self) {
        // Cannot block: the count is 1.
        let _ = (&self.0).read(&mut [0; 8]);
    }

    pub(crate) fn fd(&self) -> i32 {
        self.0.as_raw_fd()
    }
}
