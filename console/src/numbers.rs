//! The counts of a queue, as pages show them and as their scripts ask for them.

use leaseq::{Counts, State};
use leaseq_report::text;
use serde::Serialize;

use crate::format::number;

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
    /// For how long the oldest ready item has been ready. Empty: none is.
    pub(crate) oldest: String,
    pub(crate) paused: bool,
    pub(crate) rate_limited: bool,
}

impl From<&Counts> for Numbers {
    fn from(counts: &Counts) -> Numbers {
        let of = |state| number(counts.of(state));
        Numbers {
            ready: of(State::Ready),
            delayed: of(State::Delayed),
            held: of(State::Held),
            leased: of(State::Leased),
            dead: of(State::Dead),
            completed: of(State::Completed),
            cancelled: of(State::Cancelled),
            oldest: counts.oldest_ready.map(text::rough).unwrap_or_default(),
            paused: counts.paused,
            rate_limited: counts.rate_limited,
        }
    }
}
