//! Which process may use SQLite.
//!
//! SQLite keeps books on the locks of its process in memory. A forked child inherits the books but
//! not the locks: what it opens while they list the file, it believes to be locked already. Then
//! the parent's close takes the log away under it, and commits of the child are lost; or the child
//! waits for ever for a lock that the parent's copy held. No file is opened there, not even anew,
//! unless every one was closed when it forked.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::{Error, Result};

/// The files that this program has open, and the process that opened them.
pub(super) static FILES: Files = Files { process: AtomicU32::new(0), open: AtomicUsize::new(0) };

pub(super) struct Files {
    process: AtomicU32,
    open: AtomicUsize,
}

/// One open file.
pub(super) struct OpenFile(&'static Files);

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Files {
    /// Before this process opens a file.
    pub(super) fn open(&'static self, process: u32) -> Result<OpenFile> {
        let inherited = self.process.load(Ordering::Acquire) != process
            && self.open.load(Ordering::Acquire) > 0;
        if inherited {
            return Err(after_fork());
        }
        self.process.store(process, Ordering::Release);
        self.open.fetch_add(1, Ordering::AcqRel);
        Ok(OpenFile(self))
    }
}

/// For a process that was forked off while a file was open.
pub(super) fn after_fork() -> Error {
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
        static FILES: Files = Files { process: AtomicU32::new(0), open: AtomicUsize::new(0) };
        let (parent, child) = (1, 2);
        let first = FILES.open(parent).unwrap();
        let second = FILES.open(parent).unwrap();
        drop(first);
        assert_eq!(FILES.open(child).err().unwrap().kind(), ErrorKind::Invalid);
        assert!(FILES.open(parent).is_ok());
        // Everything was closed before the fork.
        drop(second);
        let _own = FILES.open(child).unwrap();
        assert!(FILES.open(child).is_ok());
    }
}
