//! The counts of a queue, as pages show them and as their scripts ask for them.

use std::ops::Deref;
use std::time::SystemTime;

use leaseq::{Counts, State};
use serde::Serialize;

use crate::format::{Moment, Shown, bound, number};

/// Counts, and when they were read.
#[derive(Debug)]
pub(crate) struct Counted {
    counts: Counts,
    at: SystemTime,
}

impl Counted {
    pub(crate) fn now(counts: Counts) -> Counted {
        Counted { counts, at: SystemTime::now() }
    }
}

impl Deref for Counted {
    type Target = Counts;

    fn deref(&self) -> &Counts {
        &self.counts
    }
}

/// The counts of a queue.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Numbers {
    pub(crate) ready: String,
    pub(crate) delayed: String,
    pub(crate) held: String,
    pub(crate) leased: String,
    pub(crate) dead: String,
    pub(crate) completed: String,
    pub(crate) cancelled: String,
    /// Since when the oldest ready item has been ready. `None`: none is.
    pub(crate) oldest: Option<Moment>,
    pub(crate) paused: bool,
    pub(crate) rate_limited: bool,
}

impl Numbers {
    pub(crate) fn oldest_time(&self) -> String {
        bound(self.oldest.as_ref(), "oldest", Shown::For)
    }
}

impl From<&Counted> for Numbers {
    fn from(counts: &Counted) -> Numbers {
        // Each answer says it anew, some ms earlier or later.
        let oldest = counts.oldest_ready.and_then(|ago| counts.at.checked_sub(ago));
        let of = |state| number(counts.of(state));
        Numbers {
            ready: of(State::Ready),
            delayed: of(State::Delayed),
            held: of(State::Held),
            leased: of(State::Leased),
            dead: of(State::Dead),
            completed: of(State::Completed),
            cancelled: of(State::Cancelled),
            oldest: oldest.map(|since| Moment::new(since).to_second()),
            paused: counts.paused,
            rate_limited: counts.rate_limited,
        }
    }
}
