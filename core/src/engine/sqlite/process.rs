//! Which process may use SQLite.
//!
//! SQLite keeps books on the locks of its process in memory. A forked child inherits the books but
//! not the locks: what it opens while they list the file, it believes to be locked already. Then
//! the parent's close takes the log away under it, and commits of the child are lost; or the child
//! waits for ever for a lock that the parent's copy held. No file is opened there, not even anew,
//! unless every one was closed when it forked, as the hooks for a fork see to.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use crate::{Error, Result};

/// The files that this program has open, and the process that opened them.
pub(super) static FILES: Files = Files::new();

pub(super) struct Files {
    process: AtomicU32,
    open: AtomicUsize,
    /// This process was forked off while somebody was inside SQLite.
    refused: AtomicBool,
}

/// One open file.
pub(super) struct OpenFile(&'static Files);

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Files {
    const fn new() -> Files {
        Files {
            process: AtomicU32::new(0),
            open: AtomicUsize::new(0),
            refused: AtomicBool::new(false),
        }
    }

    /// In a child: whoever was inside SQLite is inside for ever.
    pub(super) fn refuse(&self) {
        self.refused.store(true, Ordering::Release);
    }

    /// Whether this process may use SQLite: in memory, or a file.
    pub(super) fn check(&self, process: u32, file: bool) -> Result<()> {
        let inherited = file
            && self.process.load(Ordering::Acquire) != process
            && self.open.load(Ordering::Acquire) > 0;
        if inherited || self.refused.load(Ordering::Acquire) {
            return Err(after_fork());
        }
        Ok(())
    }

    /// Before this process opens a file.
    pub(super) fn open(&'static self, process: u32) -> Result<OpenFile> {
        self.check(process, true)?;
        self.process.store(process, Ordering::Release);
        self.open.fetch_add(1, Ordering::AcqRel);
        Ok(OpenFile(self))
    }
}

/// For a process that was forked off while a file was open.
fn after_fork() -> Error {
    Error::invalid(
        "this process was forked off while its parent had an embedded queue open, which SQLite \
         does not survive: open the queue after the fork, and in the parent too, or start the \
         process anew (multiprocessing: \"spawn\" or \"forkserver\")",
    )
}

/// For a client that came across a fork.
pub(super) fn of_parent() -> Error {
    Error::invalid(
        "this client of an embedded queue belongs to the process that this one was forked off \
         from: connect anew",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_child_opens_nothing_while_its_parent_had_something_open() {
        static FILES: Files = Files::new();
        let (parent, child) = (1, 2);
        let first = FILES.open(parent).unwrap();
        let second = FILES.open(parent).unwrap();
        drop(first);
        assert_eq!(FILES.open(child).err().unwrap().kind(), ErrorKind::Invalid);
        assert!(FILES.open(parent).is_ok());
        assert!(FILES.check(child, false).is_ok());
        // Everything was closed before the fork.
        drop(second);
        let _own = FILES.open(child).unwrap();
        assert!(FILES.open(child).is_ok());
        // Somebody was inside.
        FILES.refuse();
        assert!(FILES.check(child, false).is_err());
        assert!(FILES.open(child).is_err());
    }
}
