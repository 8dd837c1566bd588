//! What is needed to open the database, for the first time and again after a fork.

use std::time::Duration;

use super::files::Identity;
use super::location::Location;
use super::numbers::Numbers;
use crate::clock::Clock;

#[derive(Clone)]
pub(super) struct Opening {
    pub(super) location: Location,
    pub(super) clock: Clock,
    pub(super) timeout: Duration,
    /// Which file it was, if it was open before.
    pub(super) known: Option<Identity>,
    pub(super) numbers: Numbers,
    /// A connection that only reads, beside one that writes.
    pub(super) read_only: bool,
}

impl Opening {
    pub(super) fn new(location: Location, clock: Clock, timeout: Duration) -> Opening {
        let (known, numbers, read_only) = (None, Numbers::default(), false);
        Opening { location, clock, timeout, known, numbers, read_only }
    }
}
