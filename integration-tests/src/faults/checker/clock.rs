//! Times of the server's clock, and when something was given or is over.

use crate::faults::history::{History, Lease, ServerClock, Span, Time};

/// How far the server's clock may differ from ours, by rounding and slewing.
pub(super) const CLOCK_MS: u64 = 50;

impl History {
    /// Converts a time of the server's clock to one of the run; `None` if the clock jumped.
    pub(super) fn time_of(&self, server_ms: u64) -> Option<Time> {
        let ServerClock::Runs { from_ms } = self.clock else { return None };
        Some(Time::from_millis(server_ms.saturating_sub(from_ms)))
    }

    /// When a lease was given, at the earliest.
    pub(super) fn given_at(&self, lease: &Lease) -> Time {
        let given = self.time_of(lease.given_ms()).filter(|_| !lease.keep_alive);
        let margin = Time::from_millis(CLOCK_MS);
        given.map_or(lease.span.began, |at| at.saturating_sub(margin).max(lease.span.began))
    }

    /// When this long after `from` has come, at the earliest.
    pub(super) fn earliest(&self, from: Time, ms: u64) -> Time {
        match self.clock {
            ServerClock::Runs { .. } => from + Time::from_millis(ms.saturating_sub(CLOCK_MS)),
            ServerClock::Jumps => from,
        }
    }

    /// When this long after `from` has come, at the latest; `None` if the clock jumped.
    pub(super) fn latest(&self, from: Time, ms: u64) -> Option<Time> {
        let runs = matches!(self.clock, ServerClock::Runs { .. });
        runs.then(|| from + Time::from_millis(if ms == 0 { 0 } else { ms + CLOCK_MS }))
    }

    /// Whether a look may show what is not confirmed, or what was.
    pub(super) fn is_vague(&self, look: Span) -> bool {
        let windows = self.vague_looks.iter().chain(&self.windows);
        let mut meets = windows.map(|(from, until)| {
            look.began <= *until && look.ended.is_none_or(|ended| ended >= *from)
        });
        meets.any(|meets| meets)
    }

    /// Whether no item was, or may have been, retained.
    pub(super) fn is_plain(&self) -> bool {
        let retains = |ms: &u64| *ms > 0;
        !self.adds.iter().any(|add| retains(&add.options.retain_ms))
            && !self
                .settles
                .iter()
                .any(|settle| settle.kept.retain_ms.as_ref().is_some_and(retains))
    }
}
