//! How long a lease certainly lasts.

use super::clock::CLOCK_MS;
use super::history_index::HistoryIndex;
use super::life::Life;
use crate::faults::history::{Outcome, Span, Time, What};

impl HistoryIndex<'_> {
    /// The latest deadline that the holder knew before this call.
    pub(super) fn known_deadline(&self, lease: usize, call: Span) -> u64 {
        let known = self.settles[lease]
            .iter()
            .filter(|settle| settle.outcome == Outcome::Yes && settle.span.before(call))
            .filter_map(|settle| settle.deadline_ms);
        known.max().unwrap_or(0).max(self.lease(lease).deadline_ms)
    }

    /// Whether the lease was certainly current during the whole call.
    pub(super) fn is_leased_throughout(&self, life: &Life<'_>, lease: usize, call: Span) -> bool {
        let ended = |at: Time| call.ended.is_some_and(|ended| ended < at);
        let own = self.settles[lease].iter().filter(|settle| {
            settle.outcome.may_be_done() && (settle.how.completes() || settle.how.gives_back())
        });
        let completed = life.completes.iter().filter(|settle| settle.outcome.may_be_done());
        let removed = life.possible().filter(|change| change.what == What::Remove);
        let mut ends = own
            .chain(completed)
            .map(|settle| settle.span.began)
            .chain(removed.map(|change| change.span.began));
        self.lease(lease).span.before(call) && ends.all(ended) && !self.may_expire(lease, call)
    }

    /// Whether the deadline of the lease may have passed before the end of the call.
    pub(super) fn may_expire(&self, lease: usize, call: Span) -> bool {
        let deadline = self.known_deadline(lease, call).saturating_sub(CLOCK_MS);
        self.history.time_of(deadline).is_none_or(|at| call.ended.is_none_or(|ended| ended >= at))
    }

    /// Whether the lease may have ended, in whatever way, before the end of the call.
    pub(super) fn may_have_ended(&self, lease: usize, call: Span) -> bool {
        let given_back = self.settles[lease].iter().any(|settle| {
            settle.how.gives_back()
                && settle.outcome.may_be_done()
                && call.ended.is_none_or(|ended| settle.span.began <= ended)
        });
        given_back || self.may_expire(lease, call)
    }
}
