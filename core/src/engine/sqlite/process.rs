//! Which process may use SQLite.
//!
//! SQLite tracks its file locks in process memory. A forked child inherits that record but not the locks:
//! it takes a file that is on record for locked already. Then either the parent's close removes the
//! write-ahead log from under the child, whose commits are lost, or the child waits for ever for a lock that
//! the copied record claims. So a child may open no file, not even again, unless all files were closed when
//! it was forked. The fork hooks do that.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::{Error, Result};

/// The files that this program has open, and the process that opened them.
pub(super) static FILES: Files = Files::new();
static FORKS: AtomicU64 = AtomicU64::new(0);

/// How often this process has forked. A descriptor from before a fork belongs to the child as well.
pub(super) fn forks() -> u64 {
    FORKS.load(Ordering::SeqCst)
}

/// This process is about to fork.
pub(super) fn count_fork() {
    FORKS.fetch_add(1, Ordering::SeqCst);
}

pub(super) struct Files {
    process: AtomicU32,
    open: AtomicUsize,
    /// This process was forked while a thread was inside SQLite.
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

    /// In a child: the threads that were inside SQLite never leave it.
    pub(super) fn refuse(&self) {
        self.refused.store(true, Ordering::Release);
    }

    /// Fails if this process may not use SQLite. `file`: for a file, not in memory.
    pub(super) fn check(&self, process: u32, file: bool) -> Result<()> {
        let inherited = file
            && self.process.load(Ordering::Acquire) != process
            && self.open.load(Ordering::Acquire) > 0;
        if inherited || self.refused.load(Ordering::Acquire) {
            return Err(after_fork());
        }
        Ok(())
    }

    /// To be called before this process opens a file.
    pub(super) fn open(&'static self, process: u32) -> Result<OpenFile> {
        self.check(process, true)?;
        self.process.store(process, Ordering::Release);
        self.open.fetch_add(1, Ordering::AcqRel);
        Ok(OpenFile(self))
    }
}

/// For a process that was forked while a file was open.
fn after_fork() -> Error {
    Error::invalid(
        "this process was forked off while its parent had an embedded queue open, which SQLite \
         does not survive: open the queue after the fork, and in the parent too, or start the \
         process anew (multiprocessing: \"spawn\" or \"forkserver\")",
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
        // All files were closed before the fork.
        drop(second);
        let _own = FILES.open(child).unwrap();
        assert!(FILES.open(child).is_ok());
        // A thread was inside.
        FILES.refuse();
        assert!(FILES.check(child, false).is_err());
        assert!(FILES.open(child).is_err());
    }
}
