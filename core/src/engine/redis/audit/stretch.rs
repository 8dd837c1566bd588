//! Reading a ready list from the left while others push to it.

use super::state::STEP;
use crate::engine::Generation;

/// The part of a ready list that is read next. It begins with the last entry of the part before it,
/// which new entries at the left may have shifted; the entries after that one were not seen yet. If it is
/// gone, or was shifted too far, this part shows nothing about doubles.
#[derive(Default)]
pub(super) struct Stretch {
    pub(super) from: u64,
    /// The last entry read. An inner `None` is a tombstone.
    last: Option<Option<Generation>>,
}

impl Stretch {
    /// The first and the last place to read.
    pub(super) fn places(&self) -> (u64, u64) {
        (self.from, self.from + STEP as u64 - 1)
    }

    /// The index of the first of these numbers that was not seen before.
    pub(super) fn fresh_from(&self, numbers: &[Option<Generation>]) -> Option<usize> {
        match self.last {
            None => Some(0),
            Some(last) => numbers.iter().position(|number| *number == last).map(|i| i + 1),
        }
    }

    /// False: the list has ended.
    pub(super) fn go_on(&mut self, numbers: &[Option<Generation>]) -> bool {
        self.last = numbers.last().copied();
        self.from += STEP as u64 - 1;
        numbers.len() >= STEP
    }
}
