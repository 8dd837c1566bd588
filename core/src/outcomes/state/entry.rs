//! What calls wait for, and those calls.

use std::time::Instant;

use tokio::sync::oneshot;

use crate::Result;
use crate::engine::{Ended, EndingPlace};
use crate::item::Outcome;

/// What a wait gets.
pub(in crate::outcomes) struct Receivers {
    pub(in crate::outcomes) serial: u64,
    /// The engine was asked.
    pub(in crate::outcomes) asked: Option<oneshot::Receiver<()>>,
    pub(in crate::outcomes) outcome: oneshot::Receiver<Result<Outcome>>,
}

/// When something is asked about next. What has calls that are not registered yet comes first, however late the others are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Timer {
    pub(super) is_registered: bool,
    pub(super) at: Instant,
    pub(super) number: u64,
}

/// An item or a group that calls wait for.
#[derive(Default)]
pub(super) struct Entry {
    pub(super) waiters: Vec<Waiter>,
    pub(super) timer: Option<Timer>,
    /// When the engine answered about it last, if that is why it has its timer.
    pub(super) checked: Option<Instant>,
    pub(super) report: Option<(EndingPlace, Ended)>,
    /// The id is in `to_fetch`, or is being fetched.
    pub(super) is_fetching: bool,
}

impl Entry {
    /// Drops a report that was applied, unless it may be about calls whose registration is not answered yet.
    pub(super) fn drop_report(&mut self) {
        if !self.is_fetching && self.waiters.iter().all(|waiter| waiter.place.is_some()) {
            self.report = None;
        }
    }
}

pub(super) struct Waiter {
    pub(super) serial: u64,
    pub(super) expect: bool,
    /// Reports with later places are about it; `None`: the engine was not asked for it yet.
    pub(super) place: Option<EndingPlace>,
    /// An answer has shown the item.
    pub(super) existed: bool,
    /// The item is gone, and reports up to this place may say how: they were not all read yet.
    pub(super) gone_at: Option<EndingPlace>,
    pub(super) asked: Option<oneshot::Sender<()>>,
    pub(super) outcome: oneshot::Sender<Result<Outcome>>,
}
