//! The numbers of items and of positions in line. They follow the clock, so that none is given twice even
//! if an old copy of the file is restored.

use std::cell::Cell;

/// Numbers count from the beginning of 2026, in ms since 1970.
pub(super) const EPOCH: u64 = 1_767_225_600_000;
/// Numbers for each millisecond.
pub(super) const PER_MS: i64 = 256;

/// Which numbers this client may give.
///
/// The file's sequence is the last number that a client has reserved. If it was this client (`reserved`),
/// it continues after `last`; otherwise it starts after the sequence.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers {
    last: Cell<i64>,
    reserved: i64,
}

impl Numbers {
    /// A transaction begins, with this sequence in the file.
    pub(super) fn begin(&self, sequence: i64) {
        if sequence != self.reserved {
            self.last.set(sequence);
        }
    }

    pub(super) fn next(&self, now: u64) -> i64 {
        self.last.set(first_at(now, 0).max(self.last.get().saturating_add(1)));
        self.last.get()
    }

    /// The last number that was given.
    pub(super) fn last(&self) -> i64 {
        self.last.get()
    }

    /// A transaction that left this sequence in the file was committed.
    pub(super) fn commit(&mut self, sequence: i64) {
        self.reserved = sequence;
    }
}

/// The first number of the moment that is `ahead` ms after `now`.
pub(super) fn first_at(now: u64, ahead: i64) -> i64 {
    (now.saturating_sub(EPOCH) as i64 + ahead) * PER_MS
}
