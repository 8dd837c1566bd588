//! Every call with its outcome, in times of one clock.

use std::time::Duration;

/// Since the run began, by a clock that never jumps.
pub(super) type Time = Duration;

/// An id, as the tests write it.
pub(super) type Id = String;

/// From the request to its answer; without an end if no answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) began: Time,
    pub(super) ended: Option<Time>,
}

impl Span {
    /// Certainly over before the other began.
    pub(super) fn before(self, other: Span) -> bool {
        self.ended.is_some_and(|ended| ended < other.began)
    }
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// True, or done.
    Yes,
    /// False, or the lease was lost.
    No,
    /// An error: nothing was executed.
    NotDone,
    /// An error that leaves the outcome open, or no answer.
    Unknown,
}

impl Outcome {
    pub(super) fn may_be_done(self) -> bool {
        matches!(self, Outcome::Yes | Outcome::Unknown)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Add {
    pub(super) who: String,
    pub(super) span: Span,
    pub(super) id: Id,
    /// A digest of the data, unique to each add.
    pub(super) data: u64,
    pub(super) outcome: Outcome,
    pub(super) options: Options,
}

/// The options of an added item that the checker needs.
#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    pub(super) retain_ms: u64,
    /// The unique key.
    pub(super) key: Option<String>,
    pub(super) unique_for_ms: u64,
    pub(super) replace: bool,
    pub(super) expires_in_ms: Option<u64>,
    /// Whether the attempts are limited.
    pub(super) limited: bool,
    /// The key that limits how many are leased at the same time.
    pub(super) limit_key: Option<String>,
    pub(super) priority: u64,
    pub(super) delayed: bool,
}

/// A lease that a caller received.
#[derive(Debug, Clone)]
pub(super) struct Lease {
    pub(super) who: String,
    pub(super) span: Span,
    pub(super) id: Id,
    pub(super) data: u64,
    pub(super) generation: u64,
    pub(super) attempt: u64,
    pub(super) failures: u64,
    pub(super) expiries: u64,
    pub(super) duration_ms: u64,
    pub(super) deadline_ms: u64,
    /// If true, the deadline may already have been extended.
    pub(super) keep_alive: bool,
}

impl Lease {
    /// When the lease was granted, by the server's clock; or later, if the lease is kept alive.
    pub(super) fn given_ms(&self) -> u64 {
        self.deadline_ms.saturating_sub(self.duration_ms)
    }
}

/// A lease call that may have leased items without a caller's receiving them: its caller was gone, or
/// the answer came after the deadline.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) span: Span,
    pub(super) most: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Complete,
    CompleteStrict,
    Extend,
    Release,
    Fail,
    /// Fails for the last time, whatever the limit.
    FailDead,
    /// Reads the handle: `Yes` if the lease is not lost.
    Look,
}

impl How {
    pub(super) fn completes(self) -> bool {
        matches!(self, How::Complete | How::CompleteStrict)
    }

    /// Ends the lease but not the generation.
    pub(super) fn gives_back(self) -> bool {
        matches!(self, How::Release | How::Fail | How::FailDead)
    }

    pub(super) fn fails(self) -> bool {
        matches!(self, How::Fail | How::FailDead)
    }
}

/// What a holder did with a lease.
#[derive(Debug, Clone)]
pub(super) struct Settle {
    pub(super) who: String,
    pub(super) span: Span,
    /// Its index in [`History::leases`].
    pub(super) lease: usize,
    pub(super) how: How,
    pub(super) outcome: Outcome,
    /// The deadline that an extension returned, or that the handle knows.
    pub(super) deadline_ms: Option<u64>,
    /// The state that a failure returned.
    pub(super) state: Option<String>,
    /// What a completion brought.
    pub(super) kept: Kept,
    /// The message of an error.
    pub(super) said: Option<String>,
}

/// The options of a completion.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Kept {
    /// A digest of the result.
    pub(super) result: Option<u64>,
    /// Takes the place of what the item was added with.
    pub(super) retain_ms: Option<u64>,
}

/// A change of an item by its id.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) who: String,
    pub(super) span: Span,
    pub(super) id: Id,
    pub(super) what: What,
    /// The index in [`History::looks`] of the look whose generation it expects.
    pub(super) expects: Option<usize>,
    pub(super) outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Remove,
    Requeue,
    Bury,
    Cancel,
    Revise {
        /// A digest of the new data, unique to each revision.
        data: Option<u64>,
        /// Whether it limits the attempts.
        limits: bool,
    },
}

/// An item as `get` or `list` shows it.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) data: u64,
    pub(super) state: String,
    pub(super) generation: String,
    /// A digest of the result.
    pub(super) result: Option<u64>,
    /// Until when a retained item is kept, by the server's clock.
    pub(super) kept_until_ms: Option<u64>,
    pub(super) key: Option<String>,
}

impl Seen {
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state.as_str(), "completed" | "cancelled")
    }
}

/// A look at an item without leasing it.
#[derive(Debug, Clone)]
pub(super) struct Look {
    pub(super) who: String,
    pub(super) span: Span,
    pub(super) id: Id,
    pub(super) seen: Option<Seen>,
    /// By `list`, which goes by the stored state.
    pub(super) listed: bool,
}

/// An item that is in the queue at the end of the run.
#[derive(Debug, Clone)]
pub(super) struct Left {
    pub(super) id: Id,
    pub(super) seen: Seen,
}

/// An id or a unique key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    Id(Id),
    Key(String),
}

/// An add when all work has ended and [`History::left`] is known: is the name free again?
#[derive(Debug, Clone)]
pub(super) struct Probe {
    pub(super) span: Span,
    pub(super) name: Name,
    pub(super) outcome: Outcome,
}

/// The totals that the queue itself counts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) added: u64,
    pub(super) leased: u64,
    pub(super) completed: u64,
    pub(super) failed: u64,
    pub(super) expired: u64,
    pub(super) died: u64,
    pub(super) removed: u64,
    pub(super) replaced: u64,
    pub(super) expired_unleased: u64,
    pub(super) cancelled: u64,
}

/// A limit that an operator sets, of all keys or of one.
#[derive(Debug, Clone)]
pub(super) struct LimitSet {
    pub(super) span: Span,
    /// `None`: the limit of the queue, for all keys that have none of their own.
    pub(super) key: Option<String>,
    /// `None`: the key has none of its own any more.
    pub(super) limit: Option<u64>,
    pub(super) outcome: Outcome,
}

/// A rate that an operator sets, of the queue or of each key, in leases a second.
#[derive(Debug, Clone)]
pub(super) struct RateSet {
    pub(super) span: Span,
    pub(super) of_keys: bool,
    pub(super) per_second: u64,
    /// A time by the server's clock at which it certainly was the rate, if the call was answered.
    pub(super) revision: Option<u64>,
    pub(super) outcome: Outcome,
}

/// The clock of the server, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ServerClock {
    /// It shows `from_ms` when the run begins, and never jumps.
    Runs { from_ms: u64 },
    /// It was set forwards and back.
    #[default]
    Jumps,
}

/// The highest rate that operators set, in leases a second, and the burst of all rates.
pub(super) const HIGHEST_RATE: u64 = 200;
pub(super) const BURST: u64 = 10;

/// The highest rate of each key, and its burst. A lower one has a burst that is used up for the same time, so that the
/// checker knows how much that is whichever holds.
pub(super) const HIGHEST_KEY_RATE: u64 = 100;
pub(super) const KEY_BURST: u64 = 4;

#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) adds: Vec<Add>,
    pub(super) leases: Vec<Lease>,
    pub(super) asks: Vec<Ask>,
    pub(super) settles: Vec<Settle>,
    pub(super) changes: Vec<Change>,
    pub(super) looks: Vec<Look>,
    pub(super) left: Vec<Left>,
    /// When [`left`](History::left) was read.
    pub(super) left_at: Option<Span>,
    pub(super) probes: Vec<Probe>,
    pub(super) rates: Vec<RateSet>,
    pub(super) limits: Vec<LimitSet>,
    /// `None` if the server lost its counts with other data.
    pub(super) totals: Option<Totals>,
    pub(super) clock: ServerClock,
    /// When the server's clock was set, in either direction.
    pub(super) jumps: Vec<Span>,
    /// When it was set back.
    pub(super) set_back: Vec<Time>,
    /// Operations that were executed in these windows may be lost or repeated.
    pub(super) windows: Vec<(Time, Time)>,
    /// In these windows two servers may both have acted as master.
    pub(super) two_masters: bool,
    /// In these windows a look may show what is not confirmed, or what was: reads do not wait for replicas.
    pub(super) vague_looks: Vec<(Time, Time)>,
}
