//! Values that belong to one process.

use std::sync::OnceLock;

use crate::fork::{self, Process};
use crate::{Error, Result};

/// A value of the process that created it. A forked child must neither use nor drop its copy: the threads that
/// served it are gone, and may have left its locks locked for ever.
#[derive(Debug)]
pub struct ProcessBound<T> {
    owner: Process,
    /// `Some` until it is dropped.
    value: Option<T>,
}

impl<T> ProcessBound<T> {
    /// A value of this process.
    pub fn new(value: T) -> Self {
        ProcessBound { owner: Process::current(), value: Some(value) }
    }

    /// True in the process that created it.
    pub fn is_here(&self) -> bool {
        self.owner == Process::current()
    }

    /// The value, called `what` in the error.
    ///
    /// # Errors
    /// `Invalid` in a process that was forked from it.
    pub fn get(&self, what: &str) -> Result<&T> {
        match &self.value {
            Some(value) if self.is_here() => Ok(value),
            _ => Err(Error::invalid(format_args!(
                "{what} belongs to process {}, and this is process {}, forked off it",
                self.owner.id,
                Process::current().id
            ))),
        }
    }

    /// The value, in any process. Only for what needs no thread and no lock.
    pub fn peek(&self) -> Option<&T> {
        self.value.as_ref()
    }
}

impl<T> Drop for ProcessBound<T> {
    fn drop(&mut self) {
        if !self.is_here() {
            std::mem::forget(self.value.take());
        }
    }
}

/// A value that each process creates for itself. A child has none until it sets one, and neither uses nor drops
/// that of its parent.
#[derive(Debug)]
pub struct PerProcess<T>(OnceLock<Box<Slot<T>>>);

#[derive(Debug)]
struct Slot<T> {
    value: ProcessBound<T>,
    /// That of a child.
    next: PerProcess<T>,
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        PerProcess::new()
    }
}

impl<T> PerProcess<T> {
    /// Without a value, in any process.
    pub const fn new() -> Self {
        PerProcess(OnceLock::new())
    }

    /// The value of this process, if it has set one.
    pub fn get(&self) -> Option<&T> {
        let mut place = self;
        while let Some(slot) = place.0.get() {
            if slot.value.is_here() {
                return slot.value.peek();
            }
            place = &slot.next;
        }
        None
    }

    /// Sets the value of this process, and returns it. If another thread has set one, returns that one, and this
    /// value as well.
    pub fn set(&self, value: T) -> (Option<&T>, Option<T>) {
        let mut new = Box::new(Slot { value: ProcessBound::new(value), next: PerProcess::new() });
        let mut place = self;
        // A child could not finish what another thread of its parent has begun.
        let _gate = fork::hold();
        loop {
            match place.0.set(new) {
                Ok(()) => return (self.get(), None),
                Err(back) => new = back,
            }
            match place.0.get() {
                Some(slot) if slot.value.is_here() => {
                    return (slot.value.peek(), new.value.value.take());
                }
                Some(slot) => place = &slot.next,
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_stays() {
        let slot = PerProcess::new();
        assert_eq!(slot.get(), None);
        assert_eq!(slot.set(1), (Some(&1), None));
        assert_eq!(slot.set(2), (Some(&1), Some(2)));
        assert_eq!(slot.get(), Some(&1));
    }

    #[test]
    fn a_value_of_another_process_is_neither_used_nor_dropped() {
        struct Dropped;
        impl Drop for Dropped {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        let mut other = ProcessBound::new(Dropped);
        other.owner.id += 1;
        assert!(other.get("it").is_err());
        assert!(other.peek().is_some());
    }
}
