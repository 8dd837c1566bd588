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
    /// Reads the handle: `Yes` if the lease is not lost.
    Look,
}

impl How {
    pub(super) fn completes(self) -> bool {
        matches!(self, How::Complete | How::CompleteStrict)
    }

    /// Ends the lease but not the generation.
    pub(super) fn gives_back(self) -> bool {
        matches!(self, How::Release | How::Fail)
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
    /// The message of an error.
    pub(super) said: Option<String>,
}

/// An item that is in the queue at the end of the run.
#[derive(Debug, Clone)]
pub(super) struct Left {
    pub(super) id: Id,
    pub(super) data: u64,
    pub(super) state: String,
}

/// The totals that the queue itself counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Totals {
    pub(super) added: u64,
    pub(super) leased: u64,
    pub(super) completed: u64,
    pub(super) failed: u64,
    pub(super) expired: u64,
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

#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) adds: Vec<Add>,
    pub(super) leases: Vec<Lease>,
    pub(super) asks: Vec<Ask>,
    pub(super) settles: Vec<Settle>,
    pub(super) left: Vec<Left>,
    /// `None` if the server lost its counts with other data.
    pub(super) totals: Option<Totals>,
    pub(super) clock: ServerClock,
    /// When the server's clock was set back.
    pub(super) set_back: Vec<Time>,
    /// Operations that were executed in these windows may be lost or repeated.
    pub(super) windows: Vec<(Time, Time)>,
    /// In these windows two servers may both have acted as master.
    pub(super) two_masters: bool,
}

impl History {
    /// The readable history of an item.
    pub(super) fn of(&self, id: &str) -> String {
        let mut lines: Vec<(Time, String)> = Vec::new();
        for add in self.adds.iter().filter(|add| add.id == id) {
            let text = format!("{} adds data {:016x}: {:?}", add.who, add.data, add.outcome);
            lines.push((add.span.began, line(add.span, &text)));
        }
        for (i, lease) in self.leases.iter().enumerate().filter(|(_, lease)| lease.id == id) {
            let text = format!(
                "{} gets lease {i} of generation {}, attempt {}, data {:016x}, from {} to {}{}",
                lease.who,
                lease.generation,
                lease.attempt,
                lease.data,
                lease.given_ms(),
                lease.deadline_ms,
                if lease.keep_alive { ", kept alive" } else { "" },
            );
            lines.push((lease.span.began, line(lease.span, &text)));
        }
        for settle in self.settles.iter().filter(|settle| self.leases[settle.lease].id == id) {
            let deadline = settle.deadline_ms.map_or(String::new(), |at| format!(" until {at}"));
            let said = settle.said.as_ref().map_or(String::new(), |said| format!(" ({said})"));
            let text = format!(
                "{} {:?} lease {}: {:?}{deadline}{said}",
                settle.who, settle.how, settle.lease, settle.outcome
            );
            lines.push((settle.span.began, line(settle.span, &text)));
        }
        lines.sort();
        let mut text: String = lines.into_iter().map(|(_, line)| line + "\n").collect();
        for left in self.left.iter().filter(|left| left.id == id) {
            text += &format!("in the end {} with data {:016x}\n", left.state, left.data);
        }
        text
    }
}

fn line(span: Span, text: &str) -> String {
    let ms = |time: Time| format!("{:.3}", time.as_secs_f64());
    let ended = span.ended.map_or("never".into(), ms);
    format!("  {:>9} – {ended:>9} s  {text}", ms(span.began))
}
